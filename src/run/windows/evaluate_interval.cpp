// SPDX-License-Identifier: Apache-2.0
#include "run/windows/evaluate_interval.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::windows {
namespace {

bool is_earlier(SamplePoint const& a, SamplePoint const& b) { return a.time < b.time; }

void check(std::span<SamplePoint const> points, Rule const& rule)
{
    if (!std::is_sorted(points.begin(), points.end(), is_earlier))
        throw std::invalid_argument("samples are out of order");
    if (rule.thresholds.close_above < rule.thresholds.open_below)
        throw std::invalid_argument("close_above is less than open_below");
    if (rule.max_age <= Millis{0} || rule.thresholds.close_delay < Millis{0})
        throw std::invalid_argument("max_age must be positive and close_delay not negative");
}

// The samples as a step function of time.
class Signal {
  public:
    Signal(std::span<SamplePoint const> points, Millis max_age) : points_(points), max_age_(max_age)
    {
    }

    // Returns the fresh intensity at `now`, or an empty optional if there is none.
    [[nodiscard]] std::optional<GramsPerKwh> at(Time now) const
    {
        auto const next = first_after(now);
        if (next == points_.begin() || now >= std::prev(next)->time + max_age_) return std::nullopt;
        return std::prev(next)->intensity;
    }
    // The next time after `now` at which the intensity may change.
    [[nodiscard]] std::optional<Time> next_change(Time now) const
    {
        auto const next = first_after(now);
        std::optional<Time> change;
        if (next != points_.end()) change = next->time;
        if (next == points_.begin()) return change;
        Time const stale = std::prev(next)->time + max_age_;
        if (stale > now && (!change || stale < *change)) change = stale;
        return change;
    }

  private:
    [[nodiscard]] std::span<SamplePoint const>::iterator first_after(Time now) const
    {
        return std::upper_bound(points_.begin(), points_.end(), SamplePoint{now, {}}, is_earlier);
    }
    std::span<SamplePoint const> points_;
    Millis max_age_;
};

// The next time after `now` at which the window may change.
std::optional<Time> next_change(Signal const& signal, WindowState const& state,
                                Thresholds const& thresholds, Time now)
{
    auto next = signal.next_change(now);
    if (state.closing_since) {
        Time const end = std::max(now, *state.closing_since + thresholds.close_delay);
        if (!next || end < *next) next = end;
    }
    return next;
}

}  // namespace

EvaluatedInterval evaluate_interval(WindowState const& before, Time from,
                                    std::span<SamplePoint const> points, Rule const& rule, Time now,
                                    std::optional<Time> last_above)
{
    check(points, rule);
    now = std::max(now, from);
    Signal const signal(points, rule.max_age);
    EvaluatedInterval result{
        .state = before, .until = now, .intensity = signal.at(now), .last_above = last_above};
    for (std::optional<Time> time = from; time && *time <= now;) {
        auto const intensity = signal.at(*time);
        auto const decision = advance(result.state, intensity, *time, rule.thresholds);
        if (decision.state.phase != result.state.phase)
            result.changes.push_back(
                {*time, result.state.phase, decision.state.phase, decision.reason, intensity,
                 explain(result.state, decision, intensity, *time, rule.thresholds),
                 result.last_above});
        result.state = decision.state;
        time = next_change(signal, result.state, rule.thresholds, *time);
        if (intensity && *intensity > rule.thresholds.close_above)
            result.last_above = std::min(time.value_or(now), now);
    }
    result.explanation =
        explain(result.state, advance(result.state, result.intensity, now, rule.thresholds),
                result.intensity, now, rule.thresholds);
    return result;
}

}  // namespace curtail::windows
