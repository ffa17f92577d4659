// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/files.hpp"

/// What happened in a run, put together from its events: windows, states and the times between
/// them. Pure.
namespace curtail::account {

/// Puts real moments on the signal's axis.
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
    [[nodiscard]] Time moment(double seconds) const
    {
        return zero_ + std::chrono::round<Millis>(FractionalSeconds(seconds));
    }
    [[nodiscard]] double factor() const { return clock_ ? clock_->factor : 1; }
    [[nodiscard]] Time zero() const { return zero_; }

  private:
    std::optional<TimeScale> clock_;
    Time zero_;
};

/// A window of one site with its real moments.
struct WindowStory {
    std::size_t site{};
    std::string id;
    double open_s{};
    MaybeSeconds close_s;
    Time opened_at;  ///< real: when the poller saw it
    std::optional<Time> closed_at;
    std::optional<Time> first_step;  ///< real
    std::vector<Span> closing;
    std::optional<Edge> start;  ///< opening to first step
    std::optional<Edge> stop;   ///< stop request to exit, of its last job
};

/// One life of a site's job, real time.
struct JobStory {
    std::string job;          ///< Slurm's number; may be empty
    Time begin;               ///< devices held from here
    std::optional<Time> end;  ///< devices given back
    std::optional<Time>
        exit;  ///< the trainer's own last word; nothing: it was killed, or trains still
    std::optional<Time> stop_requested;
    std::vector<std::pair<Time, std::string>>
        states;     ///< the trainer's words: starting, training, exchange, idle, draining
    Millis cut{0};  ///< it held devices so much longer, beside the site's next job
};

struct SiteStory {
    std::vector<JobStory> jobs;                    ///< in order of begin
    std::vector<energy::StateInterval> held;       ///< states with devices, on the signal's axis
    std::vector<energy::StateInterval> held_real;  ///< the same in real time
    std::vector<StateSpan> states;                 ///< with `provision`, for the report
    std::vector<double> drains;  ///< real seconds from a stop request to the trainer's exit
};

struct RunStory {
    Axis axis{std::nullopt, Time{}};
    Time end;  ///< real: the last thing recorded
    double end_s{};
    bool running{false};  ///< a job has not ended
    std::vector<Decision> decisions;
    std::vector<WindowStory> windows;  ///< in order of opening
    std::vector<SiteStory> sites;      ///< as run.sites
};

[[nodiscard]] RunStory story_of(RunFiles const& files);

/// A detail of an event as text; empty if it is not there.
[[nodiscard]] std::string text_of(Event const& event, char const* key);
/// A site's jobs from its own events and the poller's, both in order of time. Devices are held from
/// what the launcher says (`started`), or the poller saw, or the trainer's first event, whichever
/// is first, to the trainer's exit or the launcher's `ended`, whichever is last. A trainer that was
/// killed could not write an exit: then to what the launcher says, or the poller saw, or the next
/// job. A site runs one job at a time: what two of them held at once is the later one's.
[[nodiscard]] std::vector<JobStory> jobs_of(std::vector<Event> const& own,
                                            std::vector<Event> const& poller, SiteId const& site);
/// What a job did while it held devices, without gaps; `run_end` is the end of one that still runs.
/// After the trainer's exit it drains; without an exit, training ends with the last step in `rows`
/// and the job is idle from there.
[[nodiscard]] std::vector<energy::StateInterval> states_of(JobStory const& job,
                                                           std::vector<StepMetrics> const& rows,
                                                           Time run_end);

}  // namespace curtail::account
