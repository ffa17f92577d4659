// SPDX-License-Identifier: Apache-2.0
#include "run/energy/bill.hpp"

#include <algorithm>
#include <array>
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

namespace {

// What a site draws in a state. Energy at an unknown power is missing.
Tally tally_of(Billing const& billing, PowerState state, Interval when)
{
    if (!billing.power) {
        Tally missing;
        missing.bound = Bound::at_least;
        missing.unpowered = true;
        return missing;
    }
    return integrate(billing.power->of(state), when, billing.intensity, billing.threshold);
}

}  // namespace

Bill& Bill::operator+=(Bill const& other)
{
    for (auto const& [state, tally] : other.by_state) by_state[state] += tally;
    total += other.total;
    inside_windows += other.inside_windows;
    return *this;
}

Bill bill_of(std::span<StateInterval const> states, std::span<Interval const> windows,
             Billings const& billings)
{
    Bill bill;
    for (auto const& b : billings) {
        auto const mine = clip(states, b.when);
        for (auto const& s : mine) {
            auto const tally = tally_of(b, s.state, s.when);
            bill.by_state[s.state] += tally;
            bill.total += tally;
        }
        for (auto const& window : windows)
            for (auto const& s : clip(mine, window))
                if (b.power) bill.inside_windows += b.power->of(s.state) * s.when.length();
    }
    return bill;
}

std::vector<Tally> cumulative(std::span<StateInterval const> states, Billings const& billings,
                              Time from, Millis step, std::size_t count)
{
    if (count == 0) return {};
    std::vector<Tally> cells(count);  // cell i: from time i - 1 to time i
    Time const end = from + static_cast<std::int64_t>(count - 1) * step;
    auto const inside = clip(states, {from, end});
    for (auto const& b : billings)
        for (auto const& s : clip(inside, b.when)) {
            for (Time at = s.when.from; at < s.when.to;) {
                auto const cell = (at - from) / step;
                Time const to = std::min(s.when.to, from + (cell + 1) * step);
                cells[static_cast<std::size_t>(cell) + 1] += tally_of(b, s.state, {at, to});
                at = to;
            }
        }
    for (std::size_t i = 1; i < count; ++i) cells[i] += cells[i - 1];
    return cells;
}

AlwaysOnBill always_on(Tokens tokens, double tokens_per_second, Time start,
                       Billings const& billings)
{
    if (!(tokens_per_second > 0)) throw std::invalid_argument("a rate of work must be positive");
    FractionalSeconds const length{static_cast<double>(tokens) / tokens_per_second};
    Interval const when{start, start + std::chrono::round<Millis>(length)};
    Time until = start;
    for (auto const& b : billings)
        if (auto const known = b.intensity.known_until(); known && *known > b.when.from)
            until = std::max(until, std::min(*known, b.when.to));
    AlwaysOnBill out{when, {start, std::min(until, when.to)}, tokens, {}};
    std::array const observed{StateInterval{PowerState::training, out.observed}};
    out.tally = bill_of(observed, {}, billings).total;
    if (out.observed != when)
        out.tokens = {static_cast<std::int64_t>(tokens_per_second * out.observed.length().count())};
    return out;
}

}  // namespace curtail::energy
