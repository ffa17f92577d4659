// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "poller/poll/poll.hpp"

namespace curtail::poll {

/// How often a site is polled.
struct LoopIntervals {
    Millis windows{100};  ///< real time between two evaluations of a window
    /// Real time between two requests to list the jobs. After a change of the window's phase, the
    /// next request follows at once. After SiteLoop::stop_jobs(), this time is at most 1 s.
    Millis jobs{1'000};
};

/// Logs the errors of one site, and does not repeat an error while it stays the same. `log` and
/// `site` must outlive this object.
class ErrorLog {
  public:
    ErrorLog(Log const& log, SiteId const& site) : log_(log), site_(site) {}
    /// Logs the error in `result`, if there is one. Does not log it again if the previous call had
    /// the same error.
    void report(Result<void> const& result);

  private:
    Log const& log_;
    SiteId const& site_;
    std::string last_;
};

/// Polls one site continuously: one thread evaluates the window, another manages the jobs. The
/// destructor stops both threads. `site` and `context` must outlive this object.
class SiteLoop {
  public:
    SiteLoop(SitePoller& site, PollContext const& context, LoopIntervals intervals);

    /// Starts both threads.
    void start();
    /// Ends the window thread, and evaluates the window a last time. From then on, the job thread
    /// stops all jobs of the site. `reason` says why the jobs should stop.
    void stop_jobs(StopReason reason);
    /// Returns true if the launcher has listed the jobs since stop_jobs() and the site is idle
    /// (SitePoller::is_idle()).
    [[nodiscard]] bool is_done() const;
    /// Asks both threads to end. Jobs keep running.
    void request_stop();
    [[nodiscard]] SitePoller& site() const { return site_; }

  private:
    [[nodiscard]] WindowResult evaluate(StopReason stop_reason);
    [[nodiscard]] JobResult manage_jobs(StopReason stop_reason);
    void wake_locked();
    void run_windows(std::stop_token const& stop);
    void run_jobs(std::stop_token const& stop);

    SitePoller& site_;
    PollContext const& context_;
    LoopIntervals intervals_;
    mutable std::mutex mutex_;  ///< guards the next four members
    std::condition_variable_any changed_;
    StopReason stop_reason_{StopReason::none};
    bool listed_since_stop_{false};
    bool list_now_{false};
    ErrorLog window_errors_;  ///< used by the window thread, and by stop_jobs() after that thread
                              ///< has ended
    ErrorLog job_errors_;     ///< used by the job thread
    std::jthread window_thread_;
    std::jthread job_thread_;
};

}  // namespace curtail::poll
