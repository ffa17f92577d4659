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

}  // namespace

IntensitySeries::IntensitySeries(std::vector<SamplePoint> points, PastEnds past_ends)
    : points_(std::move(points)),
      past_ends_(past_ends),
      blind_(std::none_of(points_.begin(), points_.end(),
                          [](SamplePoint const& r) { return r.intensity.has_value(); }))
{
    for (std::size_t i = 1; i < points_.size(); ++i)
        if (points_[i].time <= points_[i - 1].time)
            throw std::invalid_argument("intensity samples must have rising times");
}

std::optional<GramsPerKwh> IntensitySeries::at(Time time) const
{
    auto const upper = std::upper_bound(points_.begin(), points_.end(), time,
                                        [](Time t, SamplePoint const& r) { return t < r.time; });
    if (upper != points_.begin() && (upper - 1)->time == time) return (upper - 1)->intensity;
    if (points_.empty()) return std::nullopt;
    if (upper == points_.begin() || upper == points_.end()) {
        if (past_ends_ == PastEnds::unknown) return std::nullopt;
        return upper == points_.begin() ? points_.front().intensity : points_.back().intensity;
    }
    if (!upper->intensity || !(upper - 1)->intensity) return std::nullopt;
    return between(*(upper - 1), *upper, time);
}

// `upper`: index of the first sample after the start of `when`. No sample is inside `when`.
IntensityPiece IntensitySeries::piece(Interval when, std::size_t upper) const
{
    IntensityPiece out{when, false, {}, {}};
    if (points_.empty()) return out;
    if (upper == 0 || upper == points_.size()) {
        auto const& end = upper == 0 ? points_.front() : points_.back();
        if (past_ends_ == PastEnds::hold && end.intensity)
            out = {when, true, *end.intensity, *end.intensity};
        return out;
    }
    auto const& a = points_[upper - 1];
    auto const& b = points_[upper];
    if (a.intensity && b.intensity)
        out = {when, true, between(a, b, when.from), between(a, b, when.to)};
    return out;
}

Interval IntensitySeries::held_after_last(Interval interval) const
{
    bool const held = past_ends_ == PastEnds::hold && !points_.empty() && points_.back().intensity;
    return {held ? std::clamp(points_.back().time, interval.from, interval.to) : interval.to,
            interval.to};
}

std::vector<IntensityPiece> IntensitySeries::pieces(Interval interval) const
{
    std::vector<IntensityPiece> out;
    auto const first = std::upper_bound(points_.begin(), points_.end(), interval.from,
                                        [](Time t, SamplePoint const& r) { return t < r.time; });
    auto upper = static_cast<std::size_t>(first - points_.begin());
    for (Time from = interval.from; from < interval.to; ++upper) {
        Time const to =
            upper < points_.size() ? std::min(points_[upper].time, interval.to) : interval.to;
        out.push_back(piece({from, to}, upper));
        from = to;
    }
    return out;
}

}  // namespace curtail::energy
