// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "poller/plan/action.hpp"
#include "poller/plan/job_limits.hpp"
#include "poller/plan/state.hpp"

namespace curtail::plan {

/// Whether a site should have a job, and why.
struct DesiredState {
    bool job{false};  ///< whether one job should run
    WindowId window;  ///< the open window that the job is for; empty if none is open
    std::string why;  ///< the reason, such as "the window is closed"
};

/// Decides the actions at the real time `now`. Returns at least one action; a `wait` says what the
/// poller waits for.
///
/// - If a job is desired, one job is kept and every other job is stopped. If there is no job, one
///   is submitted.
/// - If no job is desired, every job is stopped.
/// - To stop a pending job, the poller removes it from the queue. To stop a running job, the poller
///   drains it repeatedly. The poller cancels it as soon as JobLimits::grace and
///   JobLimits::drains_before_cancel permit.
/// - A job that received no stop request belongs to the window that is open now, even if it was
///   submitted for an earlier one.
/// - While a job is stopping, no other job is submitted. A job that is ending for longer than
///   JobLimits::completing_time no longer counts.
/// - If there are two jobs, the running one is kept. If both are running or both are pending, the
///   older one is kept.
/// - After a failure the next job is submitted only after the backoff.
/// - A listed job that `state` does not track is ignored.
///
/// `jobs` are the jobs that the launcher lists.
[[nodiscard]] std::vector<Action> decide(SiteState const& state, DesiredState const& desired,
                                         std::vector<Job> const& jobs, Time now,
                                         JobLimits const& limits);

/// Returns one line with all warnings about those listed jobs that have not ended. The text is
/// empty if there are no warnings.
[[nodiscard]] std::string warning_of(SiteState const& state, std::vector<Job> const& jobs, Time now,
                                     JobLimits const& limits);

}  // namespace curtail::plan
