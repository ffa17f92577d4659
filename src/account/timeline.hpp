// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/jobs.hpp"

/// What happened in a run, from its events: windows, states, latencies. Pure.
namespace curtail::account {

/// Converts real times to seconds on the signal's axis.
class Axis {
  public:
    Axis(std::optional<TimeScale> clock, Time zero) : clock_(clock), zero_(zero) {}
    [[nodiscard]] Time signal(Time real) const { return clock_ ? clock_->from_real(real) : real; }
    /// Signal seconds after time zero.
    [[nodiscard]] double at(Time real) const { return seconds_between(zero_, signal(real)); }
    [[nodiscard]] double of_signal(Time signal_time) const
    {
        return seconds_between(zero_, signal_time);
    }
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

/// A window of one site.
struct WindowTimeline {
    std::size_t site{};
    std::string id;
    double open_s{};
    MaybeSeconds close_s;
    Time opened_at;                  ///< real: when the poller saw it open
    Time next_opened_at;             ///< real: the site's next opening; Time::max() if none
    std::optional<Time> first_step;  ///< real
    std::vector<Span> closing;       ///< intervals of the closing delay
    std::optional<Latency> start;    ///< opening to first step
    std::optional<Latency> stop;     ///< stop request to exit, of its last job
};

struct SiteTimeline {
    std::vector<JobTimeline> jobs;                 ///< in order of begin
    std::vector<energy::StateInterval> held;       ///< states with devices, on the signal's axis
    std::vector<energy::StateInterval> held_real;  ///< the same in real time
    std::vector<StateSpan> states;                 ///< the same in seconds, with `provision`
    std::vector<double> drains;  ///< real seconds from a stop request to the trainer's exit
};

struct Timeline {
    Axis axis{std::nullopt, Time{}};
    Time end;  ///< real: the last recorded time
    double end_s{};
    bool running{false};  ///< a job has not ended
    std::vector<Decision> decisions;
    std::vector<WindowTimeline> windows;  ///< in order of opening
    std::vector<SiteTimeline> sites;      ///< as run.sites
};

[[nodiscard]] Timeline timeline_of(RunFiles const& files);

}  // namespace curtail::account
