// SPDX-License-Identifier: Apache-2.0
#include "energy/intensity.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {
namespace {

GramsPerKwh between(SamplePoint const& a, SamplePoint const& b, Time time)
{
    double const share = seconds_between(a.time, time) / seconds_between(a.time, b.time);
    return {a.intensity->value + (b.intensity->value - a.intensity->value) * share};
}

IntensityPiece constant_piece(Interval when, std::optional<GramsPerKwh> intensity)
{
    if (!intensity) return {when, false, {}, {}};
    return {when, true, *intensity, *intensity};
}

}  // namespace

char const* name(AccountingRule rule) { return rule == AccountingRule::hold ? "hold" : "linear"; }

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

// Index of the first sample after `time`.
std::size_t IntensitySeries::first_after(Time time) const
{
    auto const upper = std::upper_bound(points_.begin(), points_.end(), time,
                                        [](Time t, SamplePoint const& r) { return t < r.time; });
    return static_cast<std::size_t>(upper - points_.begin());
}

// The last time at which a sample holds, if no later sample follows before.
Time IntensitySeries::hold_end(std::size_t sample) const
{
    return held_until(points_[sample], rule_.least_hold);
}

// Whether a sample holds without a limit.
bool IntensitySeries::holds_for_ever(std::size_t sample) const
{
    return sample + 1 == points_.size() && rule_.past_ends == PastEnds::nearest;
}

std::optional<GramsPerKwh> IntensitySeries::at(Time time) const
{
    auto const upper = first_after(time);
    bool const held = rule_.rule == AccountingRule::hold && upper > 0;
    if (held && !holds_for_ever(upper - 1) && time > hold_end(upper - 1)) return std::nullopt;
    if (held || (upper > 0 && points_[upper - 1].time == time)) return points_[upper - 1].intensity;
    auto const found = piece({time, time}, upper);
    return found.known ? std::optional(found.begin) : std::nullopt;
}

// The part `when` of the hold of a sample, or of the time after it.
IntensityPiece IntensitySeries::held_piece(Interval when, std::size_t sample) const
{
    bool const held = holds_for_ever(sample) || when.from < hold_end(sample);
    return constant_piece(when, held ? points_[sample].intensity : std::nullopt);
}

// `upper`: index of the first sample after the start of `when`. The intensity keeps its course
// inside `when`.
IntensityPiece IntensitySeries::piece(Interval when, std::size_t upper) const
{
    bool const nearest = rule_.past_ends == PastEnds::nearest;
    if (points_.empty()) return constant_piece(when, std::nullopt);
    if (upper == 0) return constant_piece(when, nearest ? points_.front().intensity : std::nullopt);
    if (rule_.rule == AccountingRule::hold) return held_piece(when, upper - 1);
    if (upper == points_.size())
        return constant_piece(when, nearest ? points_.back().intensity : std::nullopt);
    auto const& a = points_[upper - 1];
    auto const& b = points_[upper];
    if (!a.intensity || !b.intensity) return constant_piece(when, std::nullopt);
    return {when, true, between(a, b, when.from), between(a, b, when.to)};
}

Interval IntensitySeries::assumed_after_last(Interval interval) const
{
    bool const assumes =
        rule_.past_ends == PastEnds::nearest && !points_.empty() && points_.back().intensity;
    if (!assumes) return {interval.to, interval.to};
    Time const known_until =
        rule_.rule == AccountingRule::hold ? hold_end(points_.size() - 1) : points_.back().time;
    return {std::clamp(known_until, interval.from, interval.to), interval.to};
}

// Until when the intensity keeps the course that it has at `from`. `upper`: index of the first
// sample after `from`.
Time IntensitySeries::course_end(Time from, std::size_t upper) const
{
    Time const next = upper < points_.size() ? points_[upper].time : Time::max();
    if (upper == 0 || rule_.rule == AccountingRule::linear) return next;
    Time const held_until = hold_end(upper - 1);
    return from < held_until ? std::min(next, held_until) : next;
}

std::vector<IntensityPiece> IntensitySeries::pieces(Interval interval) const
{
    std::vector<IntensityPiece> out;
    auto upper = first_after(interval.from);
    for (Time from = interval.from; from < interval.to;) {
        Time const to = std::min(course_end(from, upper), interval.to);
        out.push_back(piece({from, to}, upper));
        from = to;
        while (upper < points_.size() && points_[upper].time <= from) ++upper;
    }
    return out;
}

}  // namespace curtail::energy
