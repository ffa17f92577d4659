// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/core/log.hpp"
#include "base/core/time_limit.hpp"
#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "trainer/engine/fitting_rows.hpp"
#include "trainer/engine/recorder.hpp"
#include "trainer/job/log_publisher.hpp"
#include "trainer/job/permission_guard.hpp"
#include "trainer/job/start_timer.hpp"
#include "trainer/rounds/watchdog.hpp"

namespace curtail::trainer {

/// How far a site's own training has come. In a run, `tokens` and `steps` are only counts that each
/// instance continues: the newest commit determines the site's weights and blocks.
struct Position {
    Tokens tokens{};        ///< number of tokens trained, over all instances of the trainer
    std::int64_t steps{};   ///< number of optimizer steps, over all instances of the trainer
    protocol::Rate rate{};  ///< measured speed, for the next instance
};

/// Numbers of the site's snapshots.
struct SnapshotNumbers {
    std::int64_t last{0};   ///< of the last snapshot that was begun, as far as known; 0: none
    std::int64_t whole{0};  ///< of the newest whole snapshot; 0: none
    /// Returns the number of the next snapshot. It does not have the slot of `whole`.
    [[nodiscard]] std::int64_t next() const
    {
        bool const same_slot = whole > 0 && (last + 1) % 2 == whole % 2;
        return last + (same_slot ? 2 : 1);
    }
};

/// Ends a process that hangs before it trains, e.g. in a call of the file system.
struct StartWatch {
    StartWatch(Watchdog::Limits stop_request, TimeLimit limit)
        : stop(std::move(stop_request)), time(std::move(limit))
    {
    }
    Watchdog stop;   ///< after a stop request
    TimeLimit time;  ///< without one
};

/// What the leader's training loop needs besides the ranks. The referenced objects must outlive the
/// context.
struct LeaderContext {
    config::Run const& run;
    config::Site const& site;
    Recorder& recorder;
    PermissionGuard& permission;
    LogPublisher* publisher;  ///< null: the site trains alone, without a store
    StartTimer& start_timer;
    FittingRows& fitting_rows;
    std::optional<StartWatch>& start_watch;  ///< reset when the training begins
    StopTimes stop_times;
    Log log;
    std::filesystem::path folder;  ///< the site's folder, which has the snapshots
    SnapshotNumbers snapshots;     ///< set when the training resumes
    /// Position in the snapshot from which the training resumes. Zero if the training starts
    /// without a snapshot.
    Position start;
    /// Id of this training, as stored in its snapshots (trainer/engine/training_id.hpp). Empty
    /// while unknown, for example before the run's first commit.
    std::optional<std::string> training_id;
};

}  // namespace curtail::trainer
