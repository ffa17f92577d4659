// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "core/intensity.hpp"
#include "energy/interval.hpp"

namespace curtail::energy {

/// What the intensity is before the first and after the last sample.
enum class PastEnds {
    unknown,
    hold  ///< the value of the nearest sample, as in the technical report (arXiv:2602.22760)
};

/// An interval in which the intensity either changes linearly from the value `begin` to the value
/// `end`, or is unknown.
struct IntensityPiece {
    Interval when;
    bool known{false};
    GramsPerKwh begin;
    GramsPerKwh end;
};

/// The marginal carbon intensity of one region over time. Between two neighbouring samples with
/// values, the intensity is linear. If one of two neighbouring samples has no value, the intensity
/// between them is unknown.
class IntensitySeries {
  public:
    /// Takes the samples of the series. Throws std::invalid_argument if the time of a sample is not
    /// later than the time of the sample before.
    explicit IntensitySeries(std::vector<SamplePoint> points,
                             PastEnds past_ends = PastEnds::unknown);

    /// Returns the intensity at `time`, or an empty optional if it is unknown.
    [[nodiscard]] std::optional<GramsPerKwh> at(Time time) const;
    /// Returns true if no sample has a value. Then the intensity is unknown at all times.
    [[nodiscard]] bool blind() const { return blind_; }
    /// Splits `interval` at the times of the samples. The pieces are in order of time and without
    /// gaps. An empty interval has no pieces.
    [[nodiscard]] std::vector<IntensityPiece> pieces(Interval interval) const;
    /// Returns the part of `interval` after the last sample, where PastEnds::hold assumes the value
    /// of this sample. Returns an empty interval if there is no such part. Also returns an empty
    /// interval with PastEnds::unknown, or if the last sample has no value.
    [[nodiscard]] Interval held_after_last(Interval interval) const;

  private:
    [[nodiscard]] IntensityPiece piece(Interval when, std::size_t upper) const;

    std::vector<SamplePoint> points_;
    PastEnds past_ends_;
    bool blind_;
};

}  // namespace curtail::energy
