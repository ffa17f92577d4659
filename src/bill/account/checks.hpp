// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "bill/account/parts.hpp"
#include "bill/account/states_by_time.hpp"

// Compares the records of a run with each other. What one record says about the energy, another one
// confirms; if it does not, the bill says so. Helpers of doubts_of().
namespace curtail::account {

using Doubts = std::vector<Doubt>;

/// One site, with what the checks compare.
struct SiteRecords {
    std::size_t index;
    config::Site const& site;
    SiteFiles const& files;
    SiteTimeline const& timeline;
    std::vector<Event> const& poller;  ///< of all sites
    Tokens in_model;
    Time run_end;    ///< a real time
    bool is_live;    ///< the run is no replay
    Millis held{0};  ///< how long jobs held devices, in real time
    /// What the jobs drew, as if the signal's clock showed real time.
    WattHours drawn;
    StatesByTime states{timeline.held_real};
    StepsByTime steps{files.metrics};

    [[nodiscard]] std::string name() const { return site.site.value; }
    /// Returns the power of the site at a real time; 0 if it is unknown.
    [[nodiscard]] Watts power_at(energy::PowerState state, Time time) const;
    /// Returns whether an amount of energy, or of time, is too large a part of the site's to be
    /// left out.
    [[nodiscard]] bool matters(WattHours energy) const;
    [[nodiscard]] bool matters(FractionalSeconds time) const;
};

/// Records that contradict others: how many there are, and the interval in which they lie.
struct Contradictions {
    std::size_t count{0};
    energy::Interval when{};  ///< if there are some

    void add(energy::Interval one)
    {
        when = {count == 0 ? one.from : std::min(when.from, one.from),
                count == 0 ? one.to : std::max(when.to, one.to)};
        ++count;
    }
    void add(Time time) { add(energy::Interval{time, time}); }
};

/// The largest part of a figure that does not matter.
inline constexpr double tolerance = energy::Tally::most_unknown;
/// Slurm counts in whole seconds.
inline constexpr Seconds rounding{1};

/// Returns a job as a text for people.
[[nodiscard]] std::string job_text(JobTimeline const& job);
/// Returns `from ... to ...`.
[[nodiscard]] std::string span_text(energy::Interval when);
/// Returns the events of one site, of those that the pollers logged.
[[nodiscard]] std::vector<Event> poller_events_of(std::vector<Event> const& poller,
                                                  SiteId const& site);
/// Returns when a step ran.
[[nodiscard]] energy::Interval interval_of(StepMetrics const& step);

/// Compares the steps with the jobs, with each other, and with the tokens in the model.
void check_steps(Doubts& doubts, SiteRecords const& r);
/// Compares the jobs with each other, and with what poller and accounting say about them.
void check_jobs(Doubts& doubts, SiteRecords const& r);
/// Compares the decisions of the poller about the window with the samples.
void check_decisions(Doubts& doubts, SiteRecords const& r, RunFiles const& files, Axis const& axis);
/// Compares the samples with the times at which the pollers ran.
void check_samples(Doubts& doubts, RunFiles const& files, Timeline const& timeline);
/// Compares the clocks of poller, launcher and trainers.
void check_clocks(Doubts& doubts, SiteRecords const& r);
/// Compares jobs, events and steps with the commits, whose times come from the store's clock.
void check_commits(Doubts& doubts, SiteRecords const& r, RunFiles const& files);
/// Compares the sites whose logs commits name with those of the run file.
void check_sites(Doubts& doubts, RunFiles const& files);
/// Compares the settings that were in force with the present ones.
void check_settings(Doubts& doubts, SiteRecords const& r, RunFiles const& files);
/// Compares what meters say with the stated powers.
void check_meters(Doubts& doubts, SiteRecords const& r);

}  // namespace curtail::account
