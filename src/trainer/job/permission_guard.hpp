// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/core/log.hpp"
#include "run/permission/operator_hold.hpp"
#include "run/permission/watch.hpp"
#include "trainer/job/stop_signal.hpp"

namespace curtail::trainer {

/// Reads a site's permission and the holds of the centre's operators in a background thread, and
/// requests a stop when the permission ends or a hold begins. Only the leader has one. If reading
/// hangs, the permission ends all the same.
class PermissionGuard {
  public:
    /// Reads the permission once, and starts the thread. `stop` must outlive the guard.
    /// `hold_folders` is Run::hold_folders.
    PermissionGuard(permission::Requirement requirement, std::filesystem::path site_folder,
                    std::vector<std::filesystem::path> hold_folders, RunId run, SiteId site,
                    StopSignal const& stop, Log log);
    PermissionGuard(PermissionGuard const&) = delete;
    PermissionGuard& operator=(PermissionGuard const&) = delete;

    /// Requests a stop if the permission has ended. The training loop calls it before each step, so
    /// that no step starts later. First waits up to 5 s for a new reading of the file: the job may
    /// have slept since the last one. Safe from any thread.
    void check();
    /// Returns the end of the permission, once check() has noticed it. Safe from any thread.
    [[nodiscard]] std::optional<permission::PermissionEnd> ended() const;

  private:
    // Reads the files. The times are those of the begin.
    void read(MonoTime now, Time real_now);
    // Requests a stop if the permission, as last read, ends until these times.
    void stop_if_ended(MonoTime now, Time real_now);
    void run(std::stop_token const& stop);

    std::filesystem::path site_folder_;
    std::vector<std::filesystem::path> hold_folders_;
    RunId run_;
    SiteId site_;
    StopSignal const& stop_;
    Log log_;
    mutable std::mutex mutex_;  ///< guards the next three members
    permission::JobWatch watch_;
    std::optional<permission::OperatorHold> hold_;
    std::optional<permission::PermissionEnd> ended_;
    std::condition_variable has_read_;
    std::jthread thread_;
};

}  // namespace curtail::trainer
