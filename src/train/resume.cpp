// SPDX-License-Identifier: Apache-2.0
#include "train/resume.hpp"

#include "train/training_id.hpp"

namespace curtail::train {
namespace {

tl::unexpected<Error> refuse(LeaderContext const& context, std::string why, std::string remedy)
{
    return fail(ExitCode::data, "cannot use snapshot " + context.snapshot.string(), std::move(why),
                std::move(remedy));
}

Result<void> take_over(SiteRanks& ranks, LeaderContext& context, Snapshot const& snapshot)
{
    // Test on this rank first: a state that does not fit must not be broadcast.
    if (auto fits = ranks.engine().optimizer().restore(snapshot.optimizer); !fits)
        return refuse(
            context, fits.error().message(),
            "remove it to continue without it (in a run, only the optimizer state is lost)");
    context.start = snapshot.position;
    ranks.broadcast_optimizer(snapshot.optimizer);
    context.log.info("resuming from " + context.snapshot.string() + ", " +
                     std::to_string(context.start.steps) + " steps");
    return {};
}

Result<std::optional<Snapshot>> load(LeaderContext const& context)
{
    return load_snapshot(context.snapshot, context.run.run, context.run.model);
}

}  // namespace

Result<void> resume_in_run(SiteRanks& ranks, LeaderContext& context, store::ObjectStore& store)
{
    auto const snapshot = load(context);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (!*snapshot) {
        context.log.info("no snapshot at " + context.snapshot.string() +
                         ": the optimizer begins anew");
        return {};
    }
    if (is_alone((*snapshot)->training_id))
        return refuse(context, "it belongs to a training without a store and would be overwritten",
                      "move it away, or name another folder in the run file");
    auto training_id = training_id_in_store(store, context.run.run);
    // The protocol handles a damaged record; it may never need this one.
    if (!training_id && training_id.error().code != ExitCode::protocol)
        return tl::unexpected(training_id.error());
    context.training_id = training_id.value_or(std::nullopt);
    if ((*snapshot)->training_id == context.training_id)
        return take_over(ranks, context, **snapshot);
    context.log.warning("ignoring snapshot " + context.snapshot.string() +
                        " of an earlier instance of this run; optimizer reset");
    return {};
}

Result<void> resume_alone(SiteRanks& ranks, LeaderContext& context)
{
    auto const snapshot = load(context);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (!*snapshot) return {};
    auto const& found = **snapshot;
    if (found.training_id != context.training_id)
        return refuse(context,
                      is_alone(found.training_id)
                          ? "it belongs to a training with different data, seed, model, optimizer "
                            "or batch"
                          : "it does not belong to a training without a store",
                      "move it away to start over, or name another folder in the run file");
    if (auto taken = take_over(ranks, context, found); !taken) return taken;
    ranks.broadcast_weights(found.weights.values());
    return {};
}

}  // namespace curtail::train
