// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "config/run.hpp"
#include "core/log.hpp"
#include "train/permission_guard.hpp"
#include "train/recorder.hpp"
#include "train/snapshot.hpp"

namespace curtail::train {

/// What the leader's training loop needs besides the ranks. The referenced objects must outlive the
/// context.
struct LeaderContext {
    config::Run const& run;
    config::Site const& site;
    Recorder& recorder;
    PermissionGuard& permission;
    StopTimes stop_times;
    Log log;
    std::filesystem::path snapshot;  ///< the file of this site's snapshot
    /// Position in the snapshot from which the training resumes. Zero if the training starts
    /// without a snapshot.
    Position start;
    /// Id of this training, as stored in its snapshots (train/training_id.hpp). Empty while
    /// unknown, for example before the run's first commit.
    std::optional<std::string> training_id;
};

}  // namespace curtail::train
