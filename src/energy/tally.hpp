#pragma once
#include <optional>

#include "energy/intensity.hpp"

namespace curtail::energy {

/// Energy drawn and carbon caused in some stretch of time. Sums of tallies are tallies.
struct Tally {
    WattHours energy;    ///< all of it
    WattHours clean;     ///< of it while intensity was below the threshold: what would have been curtailed
    WattHours unknown;   ///< of it while intensity was not known; causes no carbon here and is not clean
    Grams carbon;        ///< of `energy` without `unknown`
    Grams carbon_dirty;  ///< of it while intensity was at or above the threshold

    Tally& operator+=(Tally const& other);
    [[nodiscard]] WattHours dirty() const { return energy - clean - unknown; }
    /// clean / energy; nothing if no energy was drawn.
    [[nodiscard]] std::optional<double> clean_share() const;
    /// carbon / energy whose intensity is known; nothing if there is none.
    [[nodiscard]] std::optional<GramsPerKwh> mean_intensity() const;
    friend bool operator==(Tally const&, Tally const&) = default;
};

/// Constant power over an interval, integrated exactly: intensity is linear within each piece, and a piece that crosses
/// `threshold` is cut where it does.
[[nodiscard]] Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity, GramsPerKwh threshold);

}  // namespace curtail::energy
