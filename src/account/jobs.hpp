// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/files.hpp"
#include "energy/state.hpp"

/// When a site held devices and what it did with them, from the logs of poller and trainer. Pure.
namespace curtail::account {

/// One job of a site, in real time.
struct JobTimeline {
    std::string job;          ///< id in the site's scheduler; may be empty
    Time begin;               ///< devices held from here
    std::optional<Time> end;  ///< devices released
    /// The trainer's own exit. Empty: it was killed, or it is still training.
    std::optional<Time> exit;
    std::optional<Time> stop_requested;
    std::vector<std::pair<Time, std::string>> states;  ///< as the trainer logged them
    Millis overlap{
        0};  ///< how long this job and the site's next one seemed to hold devices at once
};

/// A site's jobs from its own events and the poller's, both in order of time.
///
/// A job holds devices from the earliest of: the launcher's `started`, the poller's event, the
/// trainer's first event. It holds them until the later of the trainer's exit and the launcher's
/// `ended`. A trainer that was killed wrote no exit: its job then ends with the launcher's time,
/// else with the poller's event, else when the next job begins. A site runs one job at a time, so
/// time in which two of them seemed to hold devices counts for the later one.
[[nodiscard]] std::vector<JobTimeline> jobs_of(std::vector<Event> const& own,
                                               std::vector<Event> const& poller,
                                               SiteId const& site);

/// What a job did while it held devices, without gaps. A job that is still running ends at
/// `run_end`. After the trainer's exit the job is draining. Without an exit, training ends with the
/// last step in `steps`, and the job is idle from there.
[[nodiscard]] std::vector<energy::StateInterval> states_of(JobTimeline const& job,
                                                           std::vector<StepMetrics> const& steps,
                                                           Time run_end);

}  // namespace curtail::account
