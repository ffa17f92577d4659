// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/core/result.hpp"
#include "base/core/time.hpp"

namespace curtail::trainer {

/// Ends the process if it does not leave in time, for example because a rank or a file system
/// hangs. Has a thread of its own, which uses neither.
class Watchdog {
  public:
    /// When and how the process ends. The time is over at the first of these two moments:
    ///
    /// * the result of `exit_by`
    /// * after the call of leaving(), once `grace` and four times the duration of the longest
    ///   optimizer step so far have both passed
    struct Limits {
        /// Returns when the process must end because of a stop request, empty if there was none.
        /// Must be safe to call from any thread.
        std::function<std::optional<MonoTime>()> exit_by{};
        Millis grace{};  ///< time from a stop request until the launcher kills the job
        /// Ends the process. If this function is empty, the watchdog is off.
        std::function<void(Error const&)> end_process{};
    };
    explicit Watchdog(Limits limits);
    ~Watchdog();
    Watchdog(Watchdog const&) = delete;
    Watchdog& operator=(Watchdog const&) = delete;

    // All functions are safe to call from any thread.

    /// Says that an optimizer step took `duration`.
    void stepped(Millis duration);
    /// Says that the process has begun to leave. `error` is the reason, if it failed.
    void leaving(std::optional<Error> error);
    /// Says that the process has left. From now on, the watchdog does nothing.
    void disarm();

  private:
    void run();
    /// Returns whether the time is over. The caller holds `mutex_`.
    [[nodiscard]] bool is_late() const;

    Limits limits_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Millis longest_step_{0};
    std::optional<MonoTime> leaving_since_;
    std::optional<Error> error_;
    bool disarmed_{false};
    std::thread thread_;
};

}  // namespace curtail::trainer
