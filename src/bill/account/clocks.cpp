// SPDX-License-Identifier: Apache-2.0
#include "bill/account/clocks.hpp"

#include <algorithm>
#include <span>

#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

// One trainer: its events, and the real time at which its monotonic clock showed zero.
struct Trainer {
    std::span<Event> events;
    std::optional<Time> zero{};
};

std::optional<Millis> monotonic_of(Event const& event)
{
    auto const seconds = event.number("monotonic_s");
    if (!seconds) return std::nullopt;
    return std::chrono::round<Millis>(FractionalSeconds(*seconds));
}

// A trainer begins with this state.
bool is_start(Event const& event)
{
    auto const change = runlog::state_change_in(event);
    return change && change->state == energy::name(energy::PowerState::starting);
}

std::vector<Trainer> trainers_of(std::vector<Event>& events)
{
    std::vector<Trainer> trainers;
    std::size_t first = 0;
    bool has_state = false;
    for (std::size_t i = 0; i <= events.size(); ++i) {
        bool const starts = i < events.size() && is_start(events[i]);
        if (i < events.size() && !(starts && has_state)) {
            has_state = has_state || starts;
            continue;
        }
        if (i > first) trainers.push_back({std::span(events).subspan(first, i - first)});
        first = i;
    }
    for (auto& trainer : trainers)
        for (auto const& event : trainer.events)
            if (auto const monotonic = monotonic_of(event); monotonic && !trainer.zero)
                trainer.zero = event.time - *monotonic;
    return trainers;
}

// Corrects the events of one trainer. Events without a monotonic time follow the one before.
void correct(Trainer const& trainer, ClockChange& largest)
{
    Millis back{0};
    for (auto& event : trainer.events) {
        if (auto const monotonic = monotonic_of(event); monotonic && trainer.zero) {
            auto const difference = *trainer.zero + *monotonic - event.time;
            back = difference > clock_rounding ? difference : Millis{0};
        }
        event.time += back;
        if (back <= Millis{0}) continue;
        if (largest.by <= Millis{0}) largest.when.from = event.time;
        largest.when.to = event.time;
        largest.by = std::max(largest.by, back);
    }
}

// The time of a step on the clock of the trainer that made it.
std::optional<Time> time_of(StepMetrics const& step, std::vector<Trainer> const& trainers)
{
    if (!step.monotonic) return std::nullopt;
    std::optional<Time> best;
    for (auto const& trainer : trainers) {
        if (!trainer.zero) continue;
        Time const time = *trainer.zero + step.monotonic->time_since_epoch();
        bool const fits = time >= trainer.events.front().time &&
                          time <= trainer.events.back().time + clock_rounding;
        auto const distance = [&](Time other) { return std::chrono::abs(other - step.time); };
        if (fits && (!best || distance(time) < distance(*best))) best = time;
    }
    return best;
}

template <class Line>
ClockChange largest_step_back(std::vector<Line> const& lines)
{
    ClockChange largest;
    for (std::size_t i = 1; i < lines.size(); ++i)
        if (auto const by = lines[i - 1].time - lines[i].time; by > largest.by)
            largest = {by, {lines[i].time, lines[i - 1].time}};
    return largest;
}

// Adds up by how much more the clock advanced than the monotonic one, from line to line.
class Advance {
  public:
    void add(Time time, std::optional<Millis> const& monotonic)
    {
        if (!monotonic) return;
        auto const zero = time - *monotonic;
        // After a start of the machine, the monotonic clock begins again.
        bool const follows = before_ && *monotonic >= before_->second;
        if (auto const by = follows ? zero - before_->first : Millis{0}; by > clock_rounding)
            change_ = {change_.by + by,
                       {change_.by > Millis{0} ? change_.when.from : time - by, time}};
        before_ = {zero, *monotonic};
    }
    void start_again() { before_.reset(); }
    [[nodiscard]] ClockChange const& change() const { return change_; }

  private:
    std::optional<std::pair<Time, Millis>> before_;  // zero of the monotonic clock, and its time
    ClockChange change_;
};

}  // namespace

ClockChange set_back(std::vector<Event> const& lines) { return largest_step_back(lines); }
ClockChange set_back(std::vector<StepMetrics> const& lines) { return largest_step_back(lines); }

ClockChange set_forward(SiteFiles const& site, std::vector<JobTimeline> const& jobs)
{
    StepsByTime const by_time(site.metrics);
    Advance steps, events;
    for (auto const& job : jobs) {
        steps.start_again();
        for (auto const& step : by_time.between(job.begin, job.end.value_or(Time::max())))
            steps.add(step.time, step.monotonic ? std::optional(step.monotonic->time_since_epoch())
                                                : std::nullopt);
    }
    for (auto const& event : site.events) {
        if (is_start(event)) events.start_again();
        events.add(event.time, monotonic_of(event));
    }
    return std::max(steps.change(), events.change(),
                    [](auto const& a, auto const& b) { return a.by < b.by; });
}

ClockChange correct_times(SiteFiles& site)
{
    auto const trainers = trainers_of(site.events);
    ClockChange largest;
    for (auto const& trainer : trainers) correct(trainer, largest);
    if (largest.by <= Millis{0}) return largest;
    for (auto& step : site.metrics)
        if (auto const time = time_of(step, trainers); time && *time - step.time > clock_rounding)
            step.time = *time;
    return largest;
}

}  // namespace curtail::account
