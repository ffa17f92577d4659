// SPDX-License-Identifier: Apache-2.0
#include "run/energy/bill.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {

char const* name(Origin origin) { return origin == Origin::logged ? "logged" : "modelled"; }

std::optional<double> Bill::inside_share() const
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

Bill bill_of(std::span<StateInterval const> states, std::span<Interval const> windows,
             IntensitySeries const& intensity, BillSettings const& settings)
{
    Bill bill{.energy = settings.energy, .carbon = settings.carbon};
    for (auto const& s : states) {
        auto const tally =
            integrate(settings.power.of(s.state), s.when, intensity, settings.threshold);
        bill.by_state[s.state] += tally;
        bill.total += tally;
    }
    for (auto const& window : windows)
        for (auto const& s : clip(states, window))
            bill.inside_windows += settings.power.of(s.state) * s.when.length();
    return bill;
}

std::vector<Tally> cumulative(std::span<StateInterval const> states,
                              IntensitySeries const& intensity, BillSettings const& settings,
                              Time from, Millis step, std::size_t count)
{
    if (count == 0) return {};
    std::vector<Tally> cells(count);  // cell i: from time i - 1 to time i
    Time const end = from + static_cast<std::int64_t>(count - 1) * step;
    for (auto const& s : clip(states, {from, end})) {
        for (Time at = s.when.from; at < s.when.to;) {
            auto const cell = (at - from) / step;
            Time const to = std::min(s.when.to, from + (cell + 1) * step);
            cells[static_cast<std::size_t>(cell) + 1] +=
                integrate(settings.power.of(s.state), {at, to}, intensity, settings.threshold);
            at = to;
        }
    }
    for (std::size_t i = 1; i < count; ++i) cells[i] += cells[i - 1];
    return cells;
}

AlwaysOnBill always_on(Tokens tokens, double tokens_per_second, Time start,
                       IntensitySeries const& intensity, BillSettings const& settings)
{
    if (!(tokens_per_second > 0)) throw std::invalid_argument("a rate of work must be positive");
    FractionalSeconds const length{static_cast<double>(tokens) / tokens_per_second};
    Interval const when{start, start + std::chrono::round<Millis>(length)};
    return {when,
            integrate(settings.power.of(PowerState::training), when, intensity, settings.threshold),
            intensity.assumed_after_last(when)};
}

}  // namespace curtail::energy
