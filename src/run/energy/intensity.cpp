// SPDX-License-Identifier: Apache-2.0
#include "run/energy/intensity.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {
Time held_until(SamplePoint const& sample, Millis least_hold)
{
    return sample.time + std::max(least_hold, sample.period.value_or(Millis{0}));
}

IntensitySeries::IntensitySeries(std::vector<SamplePoint> points, IntensityRule rule)
    : points_(std::move(points)),
      rule_(rule),
      blind_(std::none_of(points_.begin(), points_.end(),
                          [](SamplePoint const& r) { return r.intensity.has_value(); }))
{
    for (std::size_t i = 1; i < points_.size(); ++i)
        if (points_[i].time <= points_[i - 1].time)
            throw std::invalid_argument("intensity samples must have rising times");
}

// Returns the index of the first sample after `time`.
std::size_t IntensitySeries::first_after(Time time) const
{
    auto const upper = std::upper_bound(points_.begin(), points_.end(), time,
                                        [](Time t, SamplePoint const& r) { return t < r.time; });
    return static_cast<std::size_t>(upper - points_.begin());
}

// Returns the last time at which a sample holds, if no later sample follows before.
Time IntensitySeries::hold_end(std::size_t sample) const
{
    return held_until(points_[sample], rule_.least_hold);
}

std::optional<GramsPerKwh> IntensitySeries::at(Time time) const
{
    auto const upper = first_after(time);
    bool const is_end_of_hold = upper > 0 && time == hold_end(upper - 1);
    return is_end_of_hold ? points_[upper - 1].intensity : value(time, upper);
}

// Returns the intensity from `from` until change_after(). `upper` is the index of the first sample
// after `from`.
std::optional<GramsPerKwh> IntensitySeries::value(Time from, std::size_t upper) const
{
    bool const holds = upper > 0 && from < hold_end(upper - 1);
    return holds ? points_[upper - 1].intensity : std::nullopt;
}

std::optional<Time> IntensitySeries::known_until() const
{
    for (std::size_t i = points_.size(); i-- > 0;)
        if (points_[i].intensity)
            return i + 1 < points_.size() ? std::min(hold_end(i), points_[i + 1].time)
                                          : hold_end(i);
    return std::nullopt;
}

// Returns the time until which the intensity keeps the value that it has from `from` on. `upper` is
// the index of the first sample after `from`.
Time IntensitySeries::change_after(Time from, std::size_t upper) const
{
    Time const next = upper < points_.size() ? points_[upper].time : Time::max();
    if (upper == 0) return next;
    Time const held_until = hold_end(upper - 1);
    return from < held_until ? std::min(next, held_until) : next;
}

std::vector<IntensityPiece> IntensitySeries::pieces(Interval interval) const
{
    std::vector<IntensityPiece> out;
    auto upper = first_after(interval.from);
    for (Time from = interval.from; from < interval.to;) {
        Time const to = std::min(change_after(from, upper), interval.to);
        out.push_back({{from, to}, value(from, upper)});
        from = to;
        while (upper < points_.size() && points_[upper].time <= from) ++upper;
    }
    return out;
}

}  // namespace curtail::energy
