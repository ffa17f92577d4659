// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/files.hpp"
#include "bill/account/steps_by_time.hpp"
#include "run/energy/state.hpp"

// Computes when a site had devices and what it did with them, from the logs of the poller and the
// trainer. The functions do no I/O.
namespace curtail::account {

/// The clocks of the nodes, of the controller, of the poller's machine and of the store differ by
/// less.
inline constexpr Seconds usual_difference{5};

/// What the poller and the launcher reported about a job. Real times.
struct JobReports {
    std::optional<Time> submitted{};  ///< by the poller
    std::optional<Time> started{};    ///< by the launcher
    std::optional<Time> ended{};      ///< by the launcher
    /// The launcher stopped the job, and `ended` is when it began to. Processes may have run on.
    bool was_stopped{false};
    std::optional<Time> noticed{};  ///< when the poller saw or caused that it has no devices
    std::optional<Time> gone{};     ///< when the poller saw that it has ended
    std::optional<Time> latest{};   ///< the latest possible end, as the poller computed it
};

/// What happened to one job of a site. All times are real times, in a replay too.
struct JobTimeline {
    std::string job;            ///< job id, from Slurm or the local launcher; may be empty
    Time begin;                 ///< when the job received its devices
    std::optional<Time> end{};  ///< when the job released its devices; empty if it still has them
    /// When the trainer logged its exit. Empty if the trainer was killed or has not exited yet.
    std::optional<Time> exit{};
    bool failed{false};  ///< the trainer's exit code was not 0
    std::optional<Time> stop_requested{};
    std::optional<Time> first_event{};  ///< the first event that the trainer logged
    std::optional<Time> last_event{};   ///< the last event that the trainer logged
    Time last_sign{};  ///< the last of the job's events and steps; its begin if it logged none
    std::vector<std::pair<Time, std::string>> states{};  ///< when each state began, with the name
                                                         ///< that the trainer logged
    JobReports reported{};
    /// Nobody reported the end, and `end` is the latest possible one. It lies after this time.
    std::optional<Time> end_from{};
    bool requeued{false};  ///< the next job is the same one, which Slurm started again
    std::vector<energy::Interval> frozen{};     ///< when its trainer did not run, by its own log
    std::vector<energy::Interval> suspended{};  ///< when the poller saw that it was suspended
    /// Sentences about reports of the launcher that contradict the site's own logs.
    std::vector<std::string> doubts{};
    /// How long this job seemed to have devices at the same time as jobs that began later. If the
    /// site's next job is not left out and `overlap` is positive, `end` is the time at which the
    /// next job began.
    Millis overlap{0};
};

/// Computes a site's jobs from two lists of events and from steps: `own` from the logs of the
/// site's trainers, and `poller` from the poller's log. Each list must be in order of time.
///
/// A job has devices from the earlier of two times: the job's start as reported by the launcher,
/// and the trainer's first event. Without a report, the poller's event `job-started` counts. No job
/// begins before its submission. A time that the launcher reports is no time if it is later than
/// the event that reports it. The job keeps the devices until the later of two times: the
/// trainer's exit, and the job's end as reported by the launcher. An end before the job's last
/// event or step is no end.
///
/// A trainer that was killed logged no exit. If the launcher reported no end either, the job ends
/// at the latest possible time: when the poller missed it, at the poller's `latest_end`, or when
/// the site's next job begins.
///
/// A site runs one job at a time. If a job seems to keep its devices after the next job has begun,
/// the job ends when the next job begins. If its trainer still logged events when the next job had
/// ended, the next job is left out.
///
/// A trainer begins with the state `starting`. A second trainer with the same job id (Slurm
/// requeued the job) or without an id is another job.
[[nodiscard]] std::vector<JobTimeline> jobs_of(std::vector<Event> const& own,
                                               std::vector<Event> const& poller, SiteId const& site,
                                               StepsByTime const& steps);

/// Computes what a job did while it had devices. The returned intervals are in order of time and
/// leave no gap. If the job still has its devices, the last interval ends at `run_end`. The state
/// from the trainer's exit to the job's end is called `draining`.
///
/// If a trainer in the state `training` logged no exit, that state ends with the job's last step in
/// `steps`. The time after that step counts as `idle`, or as `requeued` if Slurm started the job
/// again. Time in which the processes did not run is `suspended` if the poller saw that state, and
/// otherwise `frozen`. The part of a step that exceeds ten times the median step of `steps`, and 30
/// s, is `stalled`.
[[nodiscard]] std::vector<energy::StateInterval> states_of(JobTimeline const& job,
                                                           StepsByTime const& steps, Time run_end);

}  // namespace curtail::account
