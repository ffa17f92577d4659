// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/core/intensity.hpp"
#include "run/energy/interval.hpp"

namespace curtail::energy {

/// The name of the rule by which the intensity at any time follows from the samples. A sample holds
/// until the time of the next one. It holds at most for the longer of its own period and
/// IntensityRule::least_hold.
inline constexpr char const* accounting_rule = "hold";

/// The settings of the rule.
struct IntensityRule {
    Millis least_hold{0};  ///< a sample holds at least this long, unless a later one follows
};

/// Returns the last time at which `sample` holds, if no later sample follows before.
[[nodiscard]] Time held_until(SamplePoint const& sample, Millis least_hold);

/// An interval in which the intensity keeps one value, or is unknown.
struct IntensityPiece {
    Interval when;
    std::optional<GramsPerKwh> intensity;
};

/// The carbon intensity of one region over time.
class IntensitySeries {
  public:
    /// Takes the samples of the series. Throws std::invalid_argument if the time of a sample is not
    /// later than the time of the sample before.
    explicit IntensitySeries(std::vector<SamplePoint> points, IntensityRule rule = {});

    /// Returns the intensity at `time`, or an empty optional if it is unknown. A sample still holds
    /// at the very end of its hold.
    [[nodiscard]] std::optional<GramsPerKwh> at(Time time) const;
    /// Returns true if no sample has a value. Then the intensity is unknown at all times.
    [[nodiscard]] bool blind() const { return blind_; }
    /// Splits `interval` where the intensity changes. The pieces are in order of time and without
    /// gaps. An empty interval has no pieces.
    [[nodiscard]] std::vector<IntensityPiece> pieces(Interval interval) const;
    /// Returns when the hold of the last sample with a value ends. Returns an empty optional if the
    /// series is blind().
    [[nodiscard]] std::optional<Time> known_until() const;

  private:
    [[nodiscard]] std::size_t first_after(Time time) const;
    [[nodiscard]] Time hold_end(std::size_t sample) const;
    [[nodiscard]] Time change_after(Time from, std::size_t upper) const;
    [[nodiscard]] std::optional<GramsPerKwh> value(Time from, std::size_t upper) const;

    std::vector<SamplePoint> points_;
    IntensityRule rule_;
    bool blind_;
};

}  // namespace curtail::energy
