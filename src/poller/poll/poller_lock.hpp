// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "base/core/files.hpp"
#include "base/core/units.hpp"

namespace curtail::poll {

/// Lets one poller at a time act on a run. Holds even where flock(2) only pretends to lock, as on
/// NFS with `local_lock` or Lustre with `localflock`.
///
/// A poller locks the file `lock`, and creates the file `holder.json` if it is absent. That file
/// names the poller's host, boot, process and a nonce. Before each action, the poller reads the
/// nonce back. Whoever finds the file of a poller that has died removes it. A dead poller of this
/// boot is known at once; one of another host counts as dead if it did not renew the file for some
/// time, by the clock of the file server.
///
/// If the disk is full, the poller has no file: it must still be able to stop jobs. It then relies
/// on the lock alone, and on the absence of another poller's file.
class PollerLock {
  public:
    /// Takes the lock without waiting. A poller of another host loses it after `lifetime` without
    /// a renewal. Fails with `temporary` if another poller holds the lock; the message names it.
    [[nodiscard]] static Result<PollerLock> take(std::filesystem::path const& folder,
                                                 Millis lifetime);
    PollerLock(PollerLock&& other) noexcept;
    PollerLock& operator=(PollerLock&&) = delete;
    /// Gives the lock back, if it is still this poller's.
    ~PollerLock();

    /// Renews the lock. Fails with `temporary` if another poller holds it, or has held it, by now:
    /// this poller must not act any more.
    [[nodiscard]] Result<void> confirm() const;

  private:
    PollerLock(FileLock lock, std::filesystem::path holder, std::string nonce, Millis lifetime);

    FileLock lock_;
    std::filesystem::path holder_;
    std::string nonce_;  ///< empty if moved from
    Millis lifetime_;
    bool has_file_{true};  ///< whether `holder_` could be written
};

}  // namespace curtail::poll
