// SPDX-License-Identifier: Apache-2.0
#include "energy/ledger.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {

char const* name(State state)
{
    switch (state) {
        case State::starting:
            return "starting";
        case State::training:
            return "training";
        case State::exchange:
            return "exchange";
        case State::idle:
            return "idle";
        case State::draining:
            return "draining";
    }
    return "unknown";
}

std::optional<State> state_named(std::string_view word)
{
    for (auto const state : all_states)
        if (word == name(state)) return state;
    return std::nullopt;
}

char const* name(Kind kind)
{
    switch (kind) {
        case Kind::measured:
            return "measured";
        case Kind::logged:
            return "logged";
        case Kind::derived:
            return "derived";
        case Kind::modelled:
            return "modelled";
        case Kind::estimated:
            return "estimated";
    }
    return "unknown";
}

std::optional<double> Ledger::inside_share() const
{
    if (total.energy.value <= 0) return std::nullopt;
    return ratio(inside_windows, total.energy);
}

std::vector<StateInterval> clip(std::span<StateInterval const> states, Interval interval)
{
    std::vector<StateInterval> out;
    for (auto const& s : states) {
        Interval const part{std::max(s.when.from, interval.from), std::min(s.when.to, interval.to)};
        if (part.from < part.to) out.push_back({s.state, part});
    }
    return out;
}

Ledger account(std::span<StateInterval const> states, std::span<Interval const> windows,
               IntensitySeries const& intensity, Rules const& rules)
{
    Ledger ledger{{}, {}, {}, rules.energy, rules.carbon};
    for (auto const& s : states) {
        auto const tally = integrate(rules.power.of(s.state), s.when, intensity, rules.threshold);
        ledger.by_state[s.state] += tally;
        ledger.total += tally;
    }
    for (auto const& window : windows)
        for (auto const& s : clip(states, window))
            ledger.inside_windows += rules.power.of(s.state) * s.when.length();
    return ledger;
}

std::vector<Tally> cumulative(std::span<StateInterval const> states,
                              IntensitySeries const& intensity, Rules const& rules, Time from,
                              Millis step, std::size_t count)
{
    if (count == 0) return {};
    std::vector<Tally> cells(count);  // cell i: from moment i - 1 to moment i
    Time const end = from + static_cast<std::int64_t>(count - 1) * step;
    for (auto const& s : clip(states, {from, end})) {
        for (Time at = s.when.from; at < s.when.to;) {
            auto const cell = (at - from) / step;
            Time const to = std::min(s.when.to, from + (cell + 1) * step);
            cells[static_cast<std::size_t>(cell) + 1] +=
                integrate(rules.power.of(s.state), {at, to}, intensity, rules.threshold);
            at = to;
        }
    }
    for (std::size_t i = 1; i < count; ++i) cells[i] += cells[i - 1];
    return cells;
}

AlwaysOn always_on(Tokens tokens, double tokens_per_second, Time start,
                   IntensitySeries const& intensity, Rules const& rules)
{
    if (!(tokens_per_second > 0)) throw std::invalid_argument("a rate of work must be positive");
    FractionalSeconds const length{static_cast<double>(tokens.value) / tokens_per_second};
    Interval const when{start, start + std::chrono::round<Millis>(length)};
    return {when, integrate(rules.power.training, when, intensity, rules.threshold),
            intensity.held_after_last(when)};
}

}  // namespace curtail::energy
