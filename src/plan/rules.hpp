// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "core/units.hpp"

namespace curtail::plan {

/// How patient the plan is. All durations are real time, whatever clock the signals follow.
struct Rules {
    Millis grace{120'000};  ///< from the first delivered drain signal to a cancel; three times as
                            ///< long if no drain signal was delivered
    int drains_before_cancel{2};      ///< attempts; no cancel before, however long they take
    Millis drain_interval{3'000};     ///< a signal may be lost: repeated until the job has ended
    Millis cancel_interval{5'000};    ///< likewise for the cancel
    Millis settle_time{5'000};        ///< a submission without an answer may still appear this long
    Millis min_run_time{20'000};      ///< a job that ends by itself sooner has failed, even with
                                      ///< exit code 0
    Millis proven_run_time{600'000};  ///< a job that ran this long has worked: its failure starts
                                      ///< a new series
    Millis first_backoff{10'000};     ///< after the first failure of a series; doubles each time
    Millis longest_backoff{600'000};
};

/// The pause after this many consecutive failures.
[[nodiscard]] Millis backoff(int failures, Rules const& rules);

/// `next try in 10.0 s (consecutive failures: 1)`, without the bracket if `failures` is 0.
[[nodiscard]] std::string next_try_text(Millis pause, int failures);

}  // namespace curtail::plan
