// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "energy/intensity.hpp"

namespace curtail::energy {

/// Energy drawn and carbon caused in some stretch of time. Sums of tallies are tallies.
///
/// The fields are sums over what is known. Whoever tells them to somebody asks the functions, which
/// answer nothing where a figure would pass off what is not known as 0.
struct Tally {
    WattHours energy;  ///< all of it
    WattHours
        clean;  ///< of it while intensity was below the threshold: what would have been curtailed
    WattHours unknown;   ///< of it while intensity was not known
    Grams carbon;        ///< of `energy` without `unknown`
    Grams carbon_dirty;  ///< of it while intensity was at or above the threshold
    bool blind{false};   ///< some of the energy was drawn where no sample has a value at all: in a
                         ///< region without a signal

    Tally& operator+=(Tally const& other);
    /// There is energy of known intensity, none of a region without a signal, or no energy at all.
    [[nodiscard]] bool known() const { return energy.value <= 0 || (!blind && unknown < energy); }
    /// So little energy is of unknown intensity (`most_unknown` of it) that the figures are the
    /// whole; else they are a least value.
    [[nodiscard]] bool whole() const
    {
        return known() && unknown.value <= most_unknown * energy.value;
    }
    static constexpr double most_unknown = 0.005;

    [[nodiscard]] std::optional<Grams> known_carbon() const
    {
        return known() ? std::optional(carbon) : std::nullopt;
    }
    [[nodiscard]] std::optional<Grams> known_carbon_dirty() const
    {
        return known() ? std::optional(carbon_dirty) : std::nullopt;
    }
    /// Energy drawn while intensity was known.
    [[nodiscard]] WattHours seen() const { return energy - unknown; }
    /// Energy drawn while intensity was at or above the threshold.
    [[nodiscard]] std::optional<WattHours> dirty() const
    {
        return known() ? std::optional(seen() - clean) : std::nullopt;
    }
    /// clean / energy whose intensity is known: what is not known is neither clean nor dirty.
    /// Nothing if there is none.
    [[nodiscard]] std::optional<double> clean_share() const;
    /// carbon / energy whose intensity is known; nothing if there is none.
    [[nodiscard]] std::optional<GramsPerKwh> mean_intensity() const;
    friend bool operator==(Tally const&, Tally const&) = default;
};

/// Constant power over an interval, integrated exactly: intensity is linear within each piece, and
/// a piece that crosses `threshold` is cut where it does.
[[nodiscard]] Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity,
                              GramsPerKwh threshold);

}  // namespace curtail::energy
