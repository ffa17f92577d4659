// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "core/intensity.hpp"

namespace curtail::energy {

/// A stretch of time, `[from, to)`.
struct Interval {
    Time from;
    Time to;
    [[nodiscard]] FractionalSeconds length() const { return to - from; }
    friend bool operator==(Interval const&, Interval const&) = default;
};

/// What counts as known before the first and after the last sample.
enum class PastEnds {
    unknown,  ///< nothing
    hold      ///< the value of the end: the rule of the technical report
};

/// A stretch in which intensity changes linearly from `begin` to `end`, or is not known.
struct IntensityPiece {
    Interval when;
    bool known{false};
    GramsPerKwh begin;
    GramsPerKwh end;
};

/// Marginal carbon intensity of one region over time: linear between neighbouring samples, unknown
/// beside a missing one.
class IntensitySeries {
  public:
    /// Times must rise strictly; throws std::invalid_argument otherwise.
    explicit IntensitySeries(std::vector<Reading> points, PastEnds past_ends = PastEnds::unknown);

    [[nodiscard]] std::optional<GramsPerKwh> at(Time time) const;
    /// No sample has a value: nothing can be known of what is drawn here, at any time.
    [[nodiscard]] bool blind() const { return blind_; }
    /// The interval cut at the samples, in order, without gaps. Empty for an empty interval.
    [[nodiscard]] std::vector<IntensityPiece> pieces(Interval interval) const;
    /// The part of the interval after the last sample, where that sample's value is held; empty
    /// where nothing is held.
    [[nodiscard]] Interval held_after_last(Interval interval) const;
    [[nodiscard]] std::vector<Reading> const& points() const { return points_; }

  private:
    [[nodiscard]] IntensityPiece piece(Interval when, std::size_t upper) const;

    std::vector<Reading> points_;
    PastEnds past_ends_;
    bool blind_;
};

}  // namespace curtail::energy
