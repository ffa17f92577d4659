// SPDX-License-Identifier: Apache-2.0
#include "bill/account/clocks.hpp"

#include <algorithm>
#include <span>

#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

// Two threads may write in another order than they read the clock.
constexpr Millis tolerance{1000};

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

std::vector<Trainer> trainers_of(std::vector<Event>& events)
{
    std::vector<Trainer> trainers;
    std::size_t first = 0;
    bool has_state = false;
    for (std::size_t i = 0; i <= events.size(); ++i) {
        bool const starts =
            i < events.size() &&
            runlog::state_change_in(events[i]).value_or(runlog::StateChange{}).state ==
                energy::name(energy::PowerState::starting);
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
Millis correct(Trainer const& trainer)
{
    Millis largest{0};
    Millis back{0};
    for (auto& event : trainer.events) {
        if (auto const monotonic = monotonic_of(event); monotonic && trainer.zero) {
            auto const difference = *trainer.zero + *monotonic - event.time;
            back = difference > tolerance ? difference : Millis{0};
        }
        event.time += back;
        largest = std::max(largest, back);
    }
    return largest;
}

// The time of a step on the clock of the trainer that made it.
std::optional<Time> time_of(StepMetrics const& step, std::vector<Trainer> const& trainers)
{
    if (!step.monotonic) return std::nullopt;
    std::optional<Time> best;
    for (auto const& trainer : trainers) {
        if (!trainer.zero) continue;
        Time const time = *trainer.zero + step.monotonic->time_since_epoch();
        bool const fits =
            time >= trainer.events.front().time && time <= trainer.events.back().time + tolerance;
        auto const distance = [&](Time other) { return std::chrono::abs(other - step.time); };
        if (fits && (!best || distance(time) < distance(*best))) best = time;
    }
    return best;
}

}  // namespace

Millis correct_times(SiteFiles& site)
{
    auto const trainers = trainers_of(site.events);
    Millis largest{0};
    for (auto const& trainer : trainers) largest = std::max(largest, correct(trainer));
    if (largest <= Millis{0}) return largest;
    for (auto& step : site.metrics)
        if (auto const time = time_of(step, trainers); time && *time - step.time > tolerance)
            step.time = *time;
    return largest;
}

}  // namespace curtail::account
