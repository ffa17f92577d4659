// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/in_force.hpp"
#include "bill/account/jobs.hpp"
#include "bill/account/meters.hpp"

// Computes the windows, states and latencies of a run from the run's files. The functions do no
// I/O. Numbers named `..._s` are seconds after time zero, on the signal's clock (see Axis).
namespace curtail::account {

/// Converts points in time between three forms: the real time, the time on the signal's clock, and
/// the seconds that have passed on the signal's clock since `zero`. Unless the run is a replay, the
/// signal's clock shows real time.
class Axis {
  public:
    /// `clock` is the signal's clock in a replay, and empty otherwise. `zero` is the time on the
    /// signal's clock from which seconds are counted ("time zero").
    Axis(std::optional<TimeScale> clock, Time zero) : clock_(clock), zero_(zero) {}
    /// Converts a real time to a time on the signal's clock.
    [[nodiscard]] Time signal(Time real) const { return clock_ ? clock_->from_real(real) : real; }
    /// Converts a real time to seconds after time zero, on the signal's clock.
    [[nodiscard]] double at(Time real) const { return seconds_between(zero_, signal(real)); }
    /// Converts a time on the signal's clock to seconds after time zero.
    [[nodiscard]] double of_signal(Time signal_time) const
    {
        return seconds_between(zero_, signal_time);
    }
    /// Returns the time that is `seconds` after time zero on the signal's clock.
    [[nodiscard]] Time signal_at(double seconds) const
    {
        return zero_ + std::chrono::round<Millis>(FractionalSeconds(seconds));
    }
    [[nodiscard]] double factor() const { return clock_ ? clock_->factor : 1; }
    [[nodiscard]] Time zero() const { return zero_; }

  private:
    std::optional<TimeScale> clock_;
    Time zero_;
};

/// One window of one site. The fields of WindowAccount about steps, energy and the release of
/// devices are empty.
struct WindowTimeline : WindowAccount {
    std::string id;
    Time opened_at;  ///< real time at which the poller noticed that the window had opened
    /// `opened_at` of the site's next window; Time::max() if there is none.
    Time next_opened_at;
    std::optional<Time> first_step;  ///< real time at the end of the first step
};

/// The pace of the trainer of one job. A trainer reads it when it starts.
struct JobPace {
    /// How long each step took at least. 0 if a step that no stop can have cut short was faster.
    FractionalSeconds step_at_least{0};
    /// Such steps, which show that the logged pace was not in force.
    std::vector<energy::Interval> faster{};
};

/// What happened at one site.
struct SiteTimeline {
    LoggedSettings settings;
    /// What the site's meters say. Empty in a replay, whose powers are those of other hardware.
    std::optional<MeteredTraining> metered;
    std::vector<JobTimeline> jobs;                 ///< in the order in which they began
    std::vector<JobPace> paces;                    ///< one per job
    std::vector<energy::StateInterval> held;       ///< when the site had devices, with its
                                                   ///< states; times on the signal's clock
    std::vector<energy::StateInterval> held_real;  ///< the same in real time
    /// When no job ran, between the first poll and the run's completion, and the nodes stayed
    /// switched on for the site; in the state `between_jobs`, on the signal's clock.
    std::vector<energy::StateInterval> between_jobs;
    /// The same for times for which nobody has said what the nodes did.
    std::vector<energy::StateInterval> maybe_between_jobs;
    /// The intervals of `held` in seconds after time zero. This list also has intervals in the
    /// state `provision`, which `held` leaves out.
    std::vector<StateSpan> states;
    std::vector<double> drains;  ///< real seconds from a stop request to the trainer's exit
    /// How long the site's last job has had devices since the end of what the site has published.
    /// This time is in none of the lists above.
    Millis unpublished{0};
};

/// What happened in a run.
struct Timeline {
    Axis axis{std::nullopt, Time{}};
    Time end;  ///< the last recorded time; a real time
    double end_s{};
    bool running{false};  ///< whether at least one job has not ended
    std::vector<PhaseChange> decisions;
    std::vector<WindowTimeline> windows;  ///< in order of opening
    std::vector<SiteTimeline> sites;      ///< one per site, in the order of RunFiles::run.sites
    PaceInForce pace{};                   ///< the pace that was in force last
    std::size_t reference{};              ///< index of the reference site that was in force last
};

/// Returns how long a step took at least, by the pace of the trainer that made it. A stop request
/// ends the pause of a paced step, which then seems to be faster.
[[nodiscard]] FractionalSeconds least_duration(SiteTimeline const& site, StepMetrics const& step);

/// Computes what happened in a run.
[[nodiscard]] Timeline timeline_of(RunFiles const& files);

}  // namespace curtail::account
