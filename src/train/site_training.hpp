// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "comm/collectives.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/result.hpp"
#include "train/recorder.hpp"
#include "train/stop_signal.hpp"

namespace curtail::train {

struct TrainOptions {
    std::filesystem::path run;  ///< run file
    SiteId site;
    std::string job;        ///< id in the site's scheduler, for events
    bool alone{false};      ///< without a store
    int threads{1};         ///< of this rank
    StepWatcher watcher{};  ///< of the leader's steps
};

/// One rank of a site's job from start to end; all ranks call it. An error before training is
/// returned on every rank, an error while training on the leader only.
[[nodiscard]] Result<void> train_site(TrainOptions const& options, comm::Collectives& collectives,
                                      StopSignal const& stop, Log const& log);

}  // namespace curtail::train
