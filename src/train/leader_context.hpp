// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "config/run.hpp"
#include "core/log.hpp"
#include "train/recorder.hpp"
#include "train/snapshot.hpp"

namespace curtail::train {

/// Everything that the leader's training loop needs, apart from the ranks.
struct LeaderContext {
    config::Run const& run;
    config::Site const& site;
    Recorder& recorder;
    Log log;
    std::filesystem::path snapshot;    ///< of this site
    Position start;                    ///< from the snapshot, or zero
    std::optional<std::string> owner;  ///< of future snapshots (train/snapshot_owner.hpp); empty
                                       ///< while unknown, as before a run's first commit
};

}  // namespace curtail::train
