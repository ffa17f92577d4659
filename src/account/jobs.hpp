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

/// Computes a site's jobs from two lists of events. The trainers of the site logged `own`, and the
/// poller logged `poller`. Each list must be in order of time.
///
/// A job has devices from the earliest of three times: the job's start as reported by the launcher,
/// the poller's `started` event, and the trainer's first event. The job keeps the devices until the
/// later of two times: the trainer's exit, and the job's end as reported by the launcher. A trainer
/// that was killed logged no exit. The job of such a trainer ends at the time that the launcher
/// reports. If the launcher reports no time for such a job, the job ends at the time of the
/// poller's `ended`, `failed` or `cancelled` event. If there is no such event, the job ends when
/// the next job begins. A site runs one job at a time, so time in which two jobs seemed to have
/// devices counts for the later job.
[[nodiscard]] std::vector<JobTimeline> jobs_of(std::vector<Event> const& own,
                                               std::vector<Event> const& poller,
                                               SiteId const& site);

/// Computes what a job did while it had devices. The returned intervals are in order of time and
/// leave no gap. If the job still has its devices, the last interval ends at `run_end`. After the
/// trainer's exit, the job is draining. If a trainer in the state `training` was killed or is still
/// running, training ends with the job's last step in `steps`. From then on, the job counts as
/// idle.
[[nodiscard]] std::vector<energy::StateInterval> states_of(JobTimeline const& job,
                                                           std::vector<StepMetrics> const& steps,
                                                           Time run_end);

}  // namespace curtail::account
