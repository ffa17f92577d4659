// SPDX-License-Identifier: Apache-2.0
#include "simulator/fork.hpp"

#include "protocol/rules/fork.hpp"

namespace curtail::protocol::simulator {
namespace {

MemberId const old_writer{"A.00000000.2"};

PartRef put(SimStore& store, Origin const& origin, std::string const& part, Payload payload)
{
    return store.put(part, model_name(origin.round, old_writer, 1, part), std::move(payload));
}

}  // namespace

RunSpec forked(RunSpec run)
{
    run.fork = {{"origin"}, {7}, sha256("a commit of another run")};
    return run;
}

void store_fork(SimStore& store, RunSpec const& run, Origin const& origin, bool forgets)
{
    auto const content = tickets_of(origin.done, store.blocks());
    Commit commit;
    commit.round = origin.round;
    commit.model.weights = put(store, origin, "w0", Payload(content));
    if (origin.has_momentum)
        commit.outer = OuterRef{run.outer.type, put(store, origin, "m0", Payload(content))};
    commit.done = origin.done;
    commit.aside = origin.aside;
    commit.totals = {origin.done.count() * run.params.block_tokens, origin.done.count()};
    auto const record = encode(run);
    store.create(run_name, record.bytes);
    auto first = first_of_fork(run, record.sha256, commit, {member_id({{"A"}, 0}, {0}), 1}, Time{});
    if (forgets) {
        first.totals = {};
        first.done = first.aside = {};
    }
    store.create(commit_name(first.number), encode(first).bytes);
}

}  // namespace curtail::protocol::simulator
