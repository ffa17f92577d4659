// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "energy/intensity.hpp"

namespace curtail::energy {

/// Energy drawn and carbon caused over some time. Tallies can be added.
///
/// `carbon` and `carbon_dirty` count only energy of known intensity. To report carbon, use the
/// functions below: they return an empty optional where an unknown value would otherwise read as 0.
struct Tally {
    WattHours energy;    ///< all energy drawn
    WattHours clean;     ///< the part drawn at an intensity below the threshold: it would have been
                         ///< curtailed
    WattHours unknown;   ///< the part drawn while the intensity was unknown
    Grams carbon;        ///< caused by the energy of known intensity
    Grams carbon_dirty;  ///< the part of `carbon` caused while the intensity was at or above the
                         ///< threshold
    bool blind{false};   ///< some energy was drawn in a region whose signal never has a value

    /// Adds every sum of `other`; the result is blind if either tally is.
    Tally& operator+=(Tally const& other);
    /// Returns whether the carbon is known at least in part: some energy has a known intensity, and
    /// none was drawn in a blind region. Also true if there is no energy.
    [[nodiscard]] bool known() const { return energy.value <= 0 || (!blind && unknown < energy); }
    /// Returns whether known() holds and at most the fraction `most_unknown` of the energy has an
    /// unknown intensity. Carbon that is known() but not whole() is a lower bound.
    [[nodiscard]] bool whole() const
    {
        return known() && unknown.value <= most_unknown * energy.value;
    }
    static constexpr double most_unknown = 0.005;  ///< largest fraction of unknown energy in a
                                                   ///< whole tally

    /// Returns `carbon`, or an empty optional unless known().
    [[nodiscard]] std::optional<Grams> known_carbon() const
    {
        return known() ? std::optional(carbon) : std::nullopt;
    }
    /// Returns `carbon_dirty`, or an empty optional unless known().
    [[nodiscard]] std::optional<Grams> known_carbon_dirty() const
    {
        return known() ? std::optional(carbon_dirty) : std::nullopt;
    }
    /// Returns the energy drawn while the intensity was known.
    [[nodiscard]] WattHours known_energy() const { return energy - unknown; }
    /// Returns the energy drawn at or above the threshold, or an empty optional unless known().
    [[nodiscard]] std::optional<WattHours> dirty() const
    {
        return known() ? std::optional(known_energy() - clean) : std::nullopt;
    }
    /// Returns clean / known_energy(), a fraction. Returns an empty optional if known_energy() is 0
    /// or the tally is blind. Energy of unknown intensity is neither clean nor in known_energy().
    [[nodiscard]] std::optional<double> clean_share() const;
    /// Returns carbon / known_energy(). Returns an empty optional if known_energy() is 0 or the
    /// tally is blind.
    [[nodiscard]] std::optional<GramsPerKwh> mean_intensity() const;
    friend bool operator==(Tally const&, Tally const&) = default;
};

/// Integrates a constant power over an interval. The result is exact, because the intensity is
/// linear within each piece and a piece that crosses `threshold` is cut at the crossing.
[[nodiscard]] Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity,
                              GramsPerKwh threshold);

}  // namespace curtail::energy
