// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/garbage.hpp"

#include <algorithm>

#include "protocol/records/names.hpp"
#include "protocol/records/reading.hpp"

namespace curtail::protocol::site {
namespace {

// Newest commit before `commit` that made a model.
CommitNumber model_before(Commit const& commit)
{
    for (auto it = commit.recent.rbegin(); it != commit.recent.rend(); ++it)
        if (it->number < commit.number) return it->number;
    return {commit.number.value - 1};
}

// Deletes what two neighbouring commits allow: the model that `old` made, momentum that `newer` no
// longer names, and deltas that `old` decided.
void delete_between(Commit const& old, Commit const& newer, Params const& params, Machine& machine)
{
    if (old.kind != Commit::Kind::roster && !is_milestone(params.milestone_every, old.round))
        machine.send(Delete{old.model.weights.name});
    if (old.outer && newer.outer != old.outer) machine.send(Delete{old.outer->momentum.name});
    Round const before{old.round.value - (old.kind == Commit::Kind::merge ? 1 : 0)};
    for (auto const& d : old.decided)
        if (!d.ranges.empty())
            machine.send(Delete{delta_name({before.value - d.staleness}, d.member, d.seq)});
}

}  // namespace

void Garbage::begin(Commit const& tip, RunSpec const& run)
{
    constexpr int rounds_back = 8;
    // Many roster commits in one round must not delay training for long.
    constexpr int reads = 100;
    walk_.reset();
    auto const oldest_kept = tip.round.value - run.params.keep_models + 1;
    for (auto const& merge : tip.recent)
        if (merge.round.value == oldest_kept && oldest_kept > 1)
            walk_ = Walk{merge.number, {}, walked_before_ ? 1 : rounds_back, reads};
    walked_before_ = walked_before_ || walk_;
}

void Garbage::advance(std::optional<Commit> commit, RunSpec const& run, Machine& machine)
{
    if (!commit) return walk_.reset();
    if (walk_->newer) {
        delete_between(*commit, *walk_->newer, run.params, machine);
        if (commit->kind != Commit::Kind::roster) --walk_->rounds;
    }
    --walk_->reads;
    bool const more = walk_->rounds > 0 && commit->number.value > 1 && walk_->reads >= 0;
    if (!more) return walk_.reset();
    // The last read jumps over roster commits to the next model, the largest payload.
    walk_->next = walk_->reads > 0 ? CommitNumber{commit->number.value - 1} : model_before(*commit);
    walk_->newer = std::move(commit);
}

}  // namespace curtail::protocol::site
