// SPDX-License-Identifier: Apache-2.0
#include "windows/replay.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::windows {
namespace {

bool is_earlier(Reading const& a, Reading const& b) { return a.time < b.time; }

void check(std::span<Reading const> readings, Rule const& rule)
{
    if (!std::is_sorted(readings.begin(), readings.end(), is_earlier))
        throw std::invalid_argument("readings are out of order");
    if (rule.thresholds.close_above < rule.thresholds.open_below)
        throw std::invalid_argument("close_above is less than open_below");
    if (rule.max_age <= Millis{0} || rule.thresholds.close_delay < Millis{0})
        throw std::invalid_argument("a duration is negative");
}

/// What the readings say at one moment, and until when they say it.
class Signal {
  public:
    Signal(std::span<Reading const> readings, Millis max_age)
        : readings_(readings), max_age_(max_age)
    {
    }

    /// The fresh intensity at `now`.
    [[nodiscard]] std::optional<GramsPerKwh> at(Time now) const
    {
        auto const next = first_after(now);
        if (next == readings_.begin() || now >= std::prev(next)->time + max_age_)
            return std::nullopt;
        return std::prev(next)->intensity;
    }
    /// The next moment after `now` at which it may say something else.
    [[nodiscard]] std::optional<Time> next_change(Time now) const
    {
        auto const next = first_after(now);
        std::optional<Time> change;
        if (next != readings_.end()) change = next->time;
        if (next == readings_.begin()) return change;
        Time const stale = std::prev(next)->time + max_age_;
        if (stale > now && (!change || stale < *change)) change = stale;
        return change;
    }

  private:
    [[nodiscard]] std::span<Reading const>::iterator first_after(Time now) const
    {
        return std::upper_bound(readings_.begin(), readings_.end(), Reading{now, {}}, is_earlier);
    }
    std::span<Reading const> readings_;
    Millis max_age_;
};

}  // namespace

Replay replay(WindowState const& before, Time until, std::span<Reading const> readings,
              Rule const& rule, Time now)
{
    check(readings, rule);
    now = std::max(now, until);
    Signal const signal(readings, rule.max_age);
    Replay result{before, now, {}, {}, {}};
    for (Time t = until;;) {
        auto const intensity = signal.at(t);
        auto const decision = advance(result.state, intensity, t, rule.thresholds);
        auto explanation = explain(result.state, decision, intensity, t, rule.thresholds);
        if (decision.state.phase != result.state.phase)
            result.changes.push_back({t, result.state.phase, decision.state.phase, decision.reason,
                                      intensity, explanation});
        result.state = decision.state;
        auto next = signal.next_change(t);
        if (result.state.closing_since) {
            Time const end = std::max(t, *result.state.closing_since + rule.thresholds.close_delay);
            if (!next || end < *next) next = end;
        }
        if (!next || *next > now) break;
        t = *next;
    }
    result.intensity = signal.at(now);
    result.explanation =
        explain(result.state, advance(result.state, result.intensity, now, rule.thresholds),
                result.intensity, now, rule.thresholds);
    return result;
}

}  // namespace curtail::windows
