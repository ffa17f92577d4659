// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <stop_token>

#include "base/core/log.hpp"
#include "protocol/chain/record_cache.hpp"
#include "run/config/run.hpp"
#include "run/runlog/held_out.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/data/progress.hpp"

namespace curtail::follow {

/// Settings of follow_run().
struct Settings {
    Millis every{10'000};  ///< time between two questions for a new commit
    chain::CacheSettings cache{};
    std::function<void(runlog::HeldOutLine const&)> on_line{};  ///< receives each new line
    data::ProgressCallback progress{};  ///< receives the progress of each evaluation, in tokens
};

/// How a process ended that followed a run.
enum class FollowOutcome {
    complete,  ///< the run is complete, and its last model has a line in the store
    stopped    ///< a stop was requested
};

/// Evaluates each new model of `run` on the held-out text, until the run is complete or a stop is
/// requested. Writes one line per model to the `evaluation.jsonl` of `site`, and publishes it in
/// the store. Goes on after the lines that exist. `site` must be a site of the run.
///
/// Waits for a store that does not answer, and for a run that has not begun. Reads a damaged record
/// of the chain up to three times, with `Settings::every` between two reads. After a stop request,
/// takes up to 10 s to publish the last lines; the evaluation that is under way is lost.
///
/// Fails with `temporary` if another process follows the run at this site. Fails with `config` if
/// the run file or the data do not belong to the run. Fails with `protocol` if the chain is broken,
/// and with `data` if its records have another format. Returns other errors that a person must
/// remove.
[[nodiscard]] Result<FollowOutcome> follow_run(config::Run const& run, SiteId const& site,
                                               std::shared_ptr<store::ObjectStore> const& store,
                                               Settings const& settings, Log const& log,
                                               std::stop_token const& stop);

}  // namespace curtail::follow
