// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "poll/poll.hpp"

namespace curtail::poll {

struct LoopIntervals {
    Millis windows{100};  ///< between two evaluations of a window, real time
    Millis jobs{1'000};   ///< between two lists of jobs, real time; none after a change of phase
};

/// Logs an error when it begins or changes, not each time.
class ErrorLog {
  public:
    ErrorLog(Log const& log, SiteId const& site) : log_(log), site_(site) {}
    void report(Result<void> const& result);

  private:
    Log const& log_;
    SiteId const& site_;
    std::string last_;
};

/// Polls one site continuously: one thread evaluates its window, another manages its jobs. The
/// destructor stops both.
class SiteLoop {
  public:
    SiteLoop(SitePoller& site, PollContext const& context, LoopIntervals intervals);

    void start();
    /// Ends the evaluation of the window, after a last one, and drains the jobs.
    void stop_jobs(StopReason reason);
    /// All jobs were listed after stop_jobs, and none is left.
    [[nodiscard]] bool is_done() const;
    /// Asks both threads to end; the jobs stay as they are.
    void request_stop();
    [[nodiscard]] SitePoller& site() const { return site_; }

  private:
    void wake_locked();
    void run_windows(std::stop_token const& stop);
    void run_jobs(std::stop_token const& stop);
    [[nodiscard]] Millis job_interval() const;

    SitePoller& site_;
    PollContext const& context_;
    LoopIntervals intervals_;
    mutable std::mutex mutex_;  ///< guards the next four
    std::condition_variable_any changed_;
    StopReason stop_reason_{StopReason::none};
    bool listed_since_stop_{false};
    bool list_now_{false};
    ErrorLog window_errors_;  ///< used by the window thread, and by stop_jobs() after its end
    ErrorLog job_errors_;     ///< used by the job thread
    std::jthread window_thread_;
    std::jthread job_thread_;
};

}  // namespace curtail::poll
