// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "plan/action.hpp"
#include "plan/rules.hpp"
#include "plan/state.hpp"

namespace curtail::plan {

/// What the windows and the user want of a site.
struct DesiredState {
    bool job{false};  ///< one job should run
    WindowId window;  ///< for this window; empty if none is open
    std::string why;  ///< "the window is closed"
};

/// The actions for now: at least one, where `wait` states what the plan waits for.
///
/// - While a job is desired, one job runs. Otherwise the job is drained, drained again, and
///   cancelled `grace` after the first delivered drain signal.
/// - A job belongs to its window. It is stopped when that window closes, even if the next one has
///   already opened.
/// - While a site's job is stopping, the next job waits for its end: never two jobs, never none.
/// - Of two jobs the older one stays.
/// - After a failure the next job waits for the backoff.
/// - A job without an intent of this run, site and folder is ignored.
[[nodiscard]] std::vector<Action> decide(SiteState const& state, DesiredState const& desired,
                                         std::vector<Job> const& jobs, Time now,
                                         Rules const& rules);

/// Warnings about jobs that have not ended, on one line; empty if there are none.
[[nodiscard]] std::string warning_of(SiteState const& state, std::vector<Job> const& jobs);

}  // namespace curtail::plan
