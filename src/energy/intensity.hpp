// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "core/intensity.hpp"
#include "energy/interval.hpp"

namespace curtail::energy {

/// The intensity before the first and after the last sample.
enum class PastEnds {
    unknown,
    hold  ///< the value of the nearest sample: the rule of the technical report
};

/// An interval in which intensity changes linearly from `begin` to `end`, or is unknown.
struct IntensityPiece {
    Interval when;
    bool known{false};
    GramsPerKwh begin;
    GramsPerKwh end;
};

/// Marginal carbon intensity of one region over time. It is linear between neighbouring samples,
/// and unknown next to a sample without a value.
class IntensitySeries {
  public:
    /// Times must rise strictly; throws std::invalid_argument otherwise.
    explicit IntensitySeries(std::vector<Reading> readings, PastEnds past_ends = PastEnds::unknown);

    [[nodiscard]] std::optional<GramsPerKwh> at(Time time) const;
    /// No sample has a value, so the intensity is unknown at all times.
    [[nodiscard]] bool blind() const { return blind_; }
    /// The interval, cut at the samples, in order and without gaps. Empty for an empty interval.
    [[nodiscard]] std::vector<IntensityPiece> pieces(Interval interval) const;
    /// The part of the interval after the last sample where that sample's value is held. It is
    /// empty if no value is held.
    [[nodiscard]] Interval held_after_last(Interval interval) const;

  private:
    [[nodiscard]] IntensityPiece piece(Interval when, std::size_t upper) const;

    std::vector<Reading> readings_;
    PastEnds past_ends_;
    bool blind_;
};

}  // namespace curtail::energy
