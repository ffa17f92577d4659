// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/files.hpp"
#include "energy/state.hpp"

// Computes when a site had devices and what it did with them, from the logs of the poller and the
// trainer. The functions do no I/O.
namespace curtail::account {

/// What happened to one job of a site. All times are real.
struct JobTimeline {
    std::string job;          ///< the job's id in Slurm; may be empty
    Time begin;               ///< when the job received its devices
    std::optional<Time> end;  ///< when the job released its devices; empty if it still has them
    /// When the trainer logged its exit. Empty if the trainer was killed or is still training.
    std::optional<Time> exit;
    std::optional<Time> stop_requested;
    std::vector<std::pair<Time, std::string>> states;  ///< when each state began, with the name
                                                       ///< that the trainer logged
    /// How long this job and the site's next one seemed to have devices at the same time.
    Millis overlap{0};
};

/// Computes a site's jobs from `own`, the site's events, and `poller`, the poller's events. Both
/// must be in order of time.
///
/// A job has devices from the earliest of three times: the launcher's start time, the poller's
/// `started` event, and the trainer's first event. It has them until the trainer's exit or the
/// launcher's end time, whichever is later. A trainer that was killed logged no exit. Its job then
/// ends at the launcher's end time. Without that time, the job ends at the poller's `ended`,
/// `failed` or `cancelled` event. Without such an event, it ends when the next job begins. A site
/// runs one job at a time, so time in which two jobs seemed to have devices counts for the later
/// job.
[[nodiscard]] std::vector<JobTimeline> jobs_of(std::vector<Event> const& own,
                                               std::vector<Event> const& poller,
                                               SiteId const& site);

/// Computes what a job did while it had devices, without gaps. A job that is still running ends at
/// `run_end`. After the trainer's exit the job is draining. If the trainer logged no exit, training
/// ends with the last step in `steps`, and the job is idle after it.
[[nodiscard]] std::vector<energy::StateInterval> states_of(JobTimeline const& job,
                                                           std::vector<StepMetrics> const& steps,
                                                           Time run_end);

}  // namespace curtail::account
