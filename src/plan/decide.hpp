// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "plan/action.hpp"
#include "plan/rules.hpp"
#include "plan/state.hpp"

namespace curtail::plan {

/// Whether a site should have a job, and why.
struct DesiredState {
    bool job{false};  ///< whether one job should run
    WindowId window;  ///< the open window that the job is for; empty if none is open
    std::string why;  ///< the reason, such as "the window is closed"
};

/// Decides the actions for the time `now`. Returns at least one; a `wait` says what the poller
/// waits for.
///
/// - While a job is desired, one job is kept. If no job is desired, every job is stopped.
/// - A job that is pending is stopped by removing it from the queue. A running one is drained
///   repeatedly, and cancelled `grace` after the first delivered drain signal.
/// - A job belongs to its window. It is stopped when that window closes, even if the next one has
///   already opened.
/// - While a job is stopping, no other job is submitted: the next one is submitted after its end.
/// - If there are two jobs, the running one is kept; if both are running or both pending, the older
///   one.
/// - After a failure the next job is submitted only after the backoff.
/// - A listed job that `state` does not track is ignored.
///
/// `jobs` are the jobs that the launcher lists.
[[nodiscard]] std::vector<Action> decide(SiteState const& state, DesiredState const& desired,
                                         std::vector<Job> const& jobs, Time now,
                                         Rules const& rules);

/// Returns warnings about the listed jobs that have not ended, on one line. The text is empty if
/// there are none.
[[nodiscard]] std::string warning_of(SiteState const& state, std::vector<Job> const& jobs);

}  // namespace curtail::plan
