// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/run_training.hpp"

#include <cstdlib>
#include <random>

#include "protocol/records/names.hpp"
#include "trainer/job/ended_processes.hpp"
#include "trainer/job/member_loop.hpp"
#include "trainer/job/site_bridges.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/payload_layout.hpp"

namespace curtail::trainer {
namespace {

// Ends the process. The training loop may be in a call that never returns; the launcher ends the
// other ranks.
[[noreturn]] void end_process(LeaderContext const& context, StopSignal const& stop,
                              Error const& error)
{
    context.log.error(error.message());
    context.recorder.ended(error.code, stop.raised() ? to_text(stop.cause()) : "");
    std::_Exit(static_cast<int>(error.code));
}

// Runs the loop, and waits until no follower is busy. Without the ranks, the leader ends at once:
// the round thread may be waiting for the store.
protocol::Exit run_with_ranks(MemberLoop& loop, SiteRanks& ranks, LeaderContext const& context)
{
    try {
        auto exit = loop.run();
        ranks.barrier();
        return exit;
    } catch (comm::CommError const& broken) {
        end_process(context, ranks.stop(), broken.to_error());
    }
}

// The direct way to other sites, if this site's file wants one.
std::shared_ptr<DirectPayloads> direct_payloads(LeaderContext const& context,
                                                std::shared_ptr<store::ObjectStore> const& store)
{
    auto const& mpi = context.site.mpi;
    if (!mpi.connect) return nullptr;
    auto place = meeting_place(context.run, context.site, store);
    if (place)
        return std::make_shared<DirectPayloads>(
            std::make_shared<bridge::Bridges>(std::move(*place), context.log), mpi.timeout);
    context.log.warning(place.error().message() + "; this site uses the store");
    return nullptr;
}

RoundExecutor::Parts executor_parts(LeaderContext const& context,
                                    std::shared_ptr<store::ObjectStore> store, Digest const& run,
                                    std::shared_ptr<SnapshotGate> gate)
{
    auto const initial = [shape = context.run.model](std::int64_t seed) {
        auto const weights = model::initial_parameters(shape, static_cast<std::uint64_t>(seed));
        return std::make_shared<std::vector<float> const>(weights.values().begin(),
                                                          weights.values().end());
    };
    auto layout = model::payload_layout(context.run.run, context.run.model);
    // The time for one payload. Slower networks cannot train this model.
    constexpr std::int64_t bytes_per_ms = (std::int64_t{2} << 20) / 1000;
    auto const bytes = static_cast<std::int64_t>(layout.elements() * sizeof(float));
    auto direct = direct_payloads(context, store);
    RoundExecutor::Parts parts{
        .store = std::move(store),
        .layout = std::move(layout),
        .initial_weights = initial,
        .order = {},
        .recorder = context.recorder,
        .log = context.log,
        .gate = std::move(gate),
        .limits = {.payload = Millis{60'000 + bytes / bytes_per_ms}},
        .kept = std::make_shared<chain::KeptPayloads>(context.folder / "kept"),
        .commits = std::make_shared<chain::RecordCache>(
            chain::CacheSettings{context.folder / "kept", context.log, {}, true}, run,
            context.run.run),
        .direct = std::move(direct),
        .identify = !context.training_id};
    if (auto* const publisher = context.publisher; publisher != nullptr) {
        parts.publish_logs = [publisher] { publisher->publish_soon(); };
        parts.journal_heads = [publisher] { return publisher->heads(); };
    }
    return parts;
}

// The greatest commit that the site has read before.
std::optional<protocol::CommitRef> newest_copy(chain::RecordCache& commits)
{
    auto const number = commits.greatest_commit();
    auto const bytes = commits.newest(protocol::commit_name(number));
    if (!bytes) return std::nullopt;
    return protocol::CommitRef{number, sha256(*bytes)};
}

}  // namespace

Result<bool> train_in_run(SiteRanks& ranks, LeaderContext const& context,
                          protocol::RunSpec const& spec, RunAtStart const& run)
{
    auto const gate = std::make_shared<SnapshotGate>();
    // A run keeps its record when its store moves. A site that begins the run writes its own spec.
    auto const record = run.record.value_or(protocol::encode(spec).bytes);
    auto parts = executor_parts(context, run.store, sha256(record), gate);
    parts.commits->add(protocol::run_name, record);
    std::uint32_t const nonce = std::random_device{}();
    protocol::Site site({{context.site.site, nonce},
                         spec,
                         context.start.rate,
                         ended_processes(context.folder, nonce, context.log),
                         newest_copy(*parts.commits)});
    // Even if the training loop hangs, the permission is checked here.
    auto const exit_by = [&] {
        context.permission.check();
        return stop_deadline(ranks.stop(), context.stop_times, StopPoint::process_ends);
    };
    RoundThread thread(std::move(site), std::move(parts),
                       {exit_by, context.site.launch.grace,
                        [&](Error const& error) { end_process(context, ranks.stop(), error); }});
    context.start_watch.reset();
    MemberLoop loop(ranks, context, thread, *gate);
    auto const exit = run_with_ranks(loop, ranks, context);
    auto const& end = thread.join();
    loop.finish_snapshots(end.rate());
    if (exit.error) return tl::unexpected(*exit.error);
    return end.tip() && end.tip()->complete;
}

}  // namespace curtail::trainer
