// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/resume.hpp"

#include "trainer/engine/training_id.hpp"
#include "trainer/job/run_at_start.hpp"
#include "trainer/snapshot/reader.hpp"

namespace curtail::trainer {
namespace {

tl::unexpected<Error> refuse(LeaderContext const& context, std::string why, std::string remedy)
{
    return fail(ExitCode::data, "cannot use the snapshot in " + context.folder.string(),
                std::move(why), std::move(remedy));
}

// Without a store, the weights are in the snapshot only.
tl::unexpected<Error> refuse_damaged(LeaderContext const& context, std::string why)
{
    bool const alone = context.training_id && is_alone(*context.training_id);
    return refuse(context, std::move(why),
                  alone ? "restore the files snapshot-* from a copy, or move them away to train "
                          "from the beginning"
                        : "remove the files snapshot-* to continue without it (the weights and "
                          "data of a run are in its store; only the optimizer state is lost)");
}

// The whole snapshots, the newest first. Fails if there are only damaged ones.
Result<std::vector<snapshot::Snapshot>> find(LeaderContext& context)
{
    auto found = snapshot::find_snapshots(context.folder);
    if (!found) return tl::unexpected(found.error());
    if (found->whole.empty() && !found->damaged.empty())
        return refuse_damaged(context, found->damaged.front());
    for (auto const& why : found->damaged) context.log.warning("a snapshot is damaged: " + why);
    if (found->whole.empty()) return std::move(found->whole);
    auto const newest = found->whole.front().serial;
    context.snapshots = {newest, newest};
    if (auto const& run = found->whole.front().metadata.run; run != context.run.run)
        return refuse(context, "it belongs to run " + run.value,
                      "move it away, or name another folder in the run file");
    return std::move(found->whole);
}

// Restores the newest snapshot of this training that is not damaged.
Result<void> take_over(SiteRanks& ranks, LeaderContext& context,
                       std::vector<snapshot::Snapshot> const& list)
{
    Error last;
    for (auto const& one : list) {
        if (one.metadata.training_id != *context.training_id) continue;
        if (auto done = ranks.restore_snapshot(one.serial); !done) {
            last = done.error();
            context.log.warning(last.message());
            continue;
        }
        context.start = {one.metadata.tokens, one.metadata.steps, one.metadata.rate};
        context.snapshots.whole = one.serial;
        context.log.info("resuming from snapshot " + std::to_string(one.serial) + " in " +
                         context.folder.string() + ", " + std::to_string(one.metadata.steps) +
                         " steps");
        return {};
    }
    return refuse_damaged(context, last.message());
}

}  // namespace

Result<void> resume_in_run(SiteRanks& ranks, LeaderContext& context,
                           std::shared_ptr<store::ObjectStore> const& store)
{
    auto const found = find(context);
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) {
        context.log.info("no snapshot in " + context.folder.string() + ": optimizer reset");
        return {};
    }
    auto const& owner = found->front().metadata.training_id;
    if (is_alone(owner))
        return refuse(context, "it belongs to a training without a store and would be overwritten",
                      "move it away, or name another folder in the run file");
    auto const read = [store, run = context.run.run](CallLimits const& call) {
        return training_id_in_store(*store, run, call);
    };
    auto training_id = answer_in_time<std::optional<std::string>>(
        start_read_limit, deadline_at_start(ranks, context.stop_times), read);
    // The protocol handles a damaged record; it may never need this one.
    if (!training_id && training_id.error().code != ExitCode::protocol)
        return tl::unexpected(training_id.error());
    context.training_id = training_id.value_or(std::nullopt);
    if (owner == context.training_id) return take_over(ranks, context, *found);
    context.log.warning("ignoring the snapshot in " + context.folder.string() +
                        " of an earlier instance of this run; optimizer reset");
    return {};
}

Result<void> resume_alone(SiteRanks& ranks, LeaderContext& context)
{
    auto const found = find(context);
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) return {};
    auto const& owner = found->front().metadata.training_id;
    if (owner != context.training_id)
        return refuse(context,
                      is_alone(owner)
                          ? "it belongs to a training with different data, seed, model, optimizer "
                            "or batch"
                          : "it does not belong to a training without a store",
                      "move it away to start over, or name another folder in the run file");
    return take_over(ranks, context, *found);
}

}  // namespace curtail::trainer
