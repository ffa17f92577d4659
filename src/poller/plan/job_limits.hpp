// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/units.hpp"

namespace curtail::plan {

/// The time limits and pauses for a site's jobs. All durations are real time, even if the signals
/// follow a recorded trace.
struct JobLimits {
    /// Time from the first delivered drain signal to a cancel. If no drain signal was delivered, a
    /// cancel follows 3 x `grace` after the first attempt to stop the job
    /// (TrackedJob::asked_since).
    Millis grace{120'000};
    int drains_before_cancel{2};    ///< minimum number of drain attempts before a cancel
    Millis drain_interval{3'000};   ///< time between two drain attempts; the poller repeats the
                                    ///< drain signal because one may be lost
    Millis cancel_interval{5'000};  ///< time between two cancel attempts
    /// If a submission got no answer: how long its job may take to appear in the list of jobs.
    Millis settle_time{5'000};
    /// A job that ends with exit code 0 before it has run this long, without a request to stop,
    /// delays the next one: that one could end at once too.
    Millis min_run_time{20'000};
    /// After so many consecutive failures of jobs, the poller holds the site.
    int failures_before_hold{6};
    /// A job that is ending for longer than this no longer delays the next one.
    Millis completing_time{300'000};
    /// A job that the launcher no longer lists, and cannot say how it ended, counts as gone after
    /// this time.
    Millis missing_time{600'000};
    Millis first_backoff{10'000};  ///< pause after the first failure of a series; doubles with each
                                   ///< further one
    Millis longest_backoff{600'000};  ///< upper limit of the pause
};

/// Returns the pause after `failures` consecutive failures.
[[nodiscard]] Millis backoff(int failures, JobLimits const& limits);

/// Formats `next try in 10.0 s (consecutive failures: 1)`. The part in brackets is omitted if
/// `failures` is 0.
[[nodiscard]] std::string next_try_text(Millis pause, int failures);

}  // namespace curtail::plan
