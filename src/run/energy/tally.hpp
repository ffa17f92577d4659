// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "run/energy/bound.hpp"
#include "run/energy/intensity.hpp"

namespace curtail::energy {

/// Energy drawn and carbon caused over some time. Tallies can be added.
///
/// `carbon` and `carbon_dirty` leave out the energy of unknown intensity. To report carbon, use
/// known_carbon() and known_carbon_dirty(). Their result is empty, not 0, if the tally is not
/// known().
///
/// The threshold is the one with which the tally was computed, e.g. by integrate().
struct Tally {
    WattHours energy;    ///< all energy drawn
    WattHours clean;     ///< the part drawn at an intensity below the threshold, which is a sign of
                         ///< curtailment and no proof
    WattHours unknown;   ///< the part drawn while the intensity was unknown
    Grams carbon;        ///< carbon caused by the energy of known intensity; never negative
    Grams carbon_dirty;  ///< the part of `carbon` caused while the intensity was at or above the
                         ///< threshold
    /// Emissions avoided by energy drawn at a negative marginal intensity, as a positive amount.
    /// They are no part of a footprint: `carbon` has 0 for this energy.
    Grams avoided{};
    bool blind{false};          ///< some energy was drawn in a region without any known intensity
    Bound bound{Bound::exact};  ///< how `energy` relates to what was drawn
    bool unpowered{false};      ///< some energy is missing because the power is unknown

    /// Adds the energy and carbon of `other`. The sum is blind if either tally is blind.
    Tally& operator+=(Tally const& other);
    /// Returns true if `carbon` can be reported. This is the case if no energy was drawn. It is
    /// also the case if some energy has a known intensity and the tally is not blind. The carbon of
    /// a tally that lacks energy or contradicts itself is never known.
    [[nodiscard]] bool known() const
    {
        return (bound == Bound::exact || bound == Bound::at_most) &&
               (energy.value <= 0 || (!blind && unknown < energy));
    }
    /// Returns true if the tally is known(), `energy` is exact, and `unknown` is at most
    /// `most_unknown` x `energy`.
    [[nodiscard]] bool whole() const { return known() && carbon_bound() == Bound::exact; }
    /// Returns how `carbon` relates to what was caused, if it is known().
    [[nodiscard]] Bound carbon_bound() const
    {
        bool const lacks = unknown.value > most_unknown * energy.value;
        return bound | (lacks ? Bound::at_least : Bound::exact);
    }
    /// Largest fraction `unknown` / `energy` of a tally that is whole().
    static constexpr double most_unknown = 0.005;

    /// Returns `carbon` if the tally is known(), and otherwise an empty optional.
    [[nodiscard]] std::optional<Grams> known_carbon() const
    {
        return known() ? std::optional(carbon) : std::nullopt;
    }
    /// Returns `carbon_dirty` if the tally is known(), and otherwise an empty optional.
    [[nodiscard]] std::optional<Grams> known_carbon_dirty() const
    {
        return known() ? std::optional(carbon_dirty) : std::nullopt;
    }
    /// Returns all energy drawn. Returns an empty optional if the power was never known.
    [[nodiscard]] std::optional<WattHours> drawn() const
    {
        return unpowered && energy.value <= 0 ? std::nullopt : std::optional(energy);
    }
    /// Returns the energy drawn while the intensity was known.
    [[nodiscard]] WattHours known_energy() const { return energy - unknown; }
    /// Returns the energy drawn while the intensity was at or above the threshold. Returns an empty
    /// optional if the tally is not known().
    [[nodiscard]] std::optional<WattHours> dirty() const
    {
        return known() ? std::optional(known_energy() - clean) : std::nullopt;
    }
    /// Returns the fraction of all energy that is known to be clean: clean / energy. Returns an
    /// empty optional if known_energy() is 0 or the carbon is unknown.
    [[nodiscard]] std::optional<double> clean_share() const;
    /// Returns carbon / known_energy(). Returns an empty optional if known_energy() is 0 or the
    /// carbon is unknown.
    [[nodiscard]] std::optional<GramsPerKwh> mean_intensity() const;
    friend bool operator==(Tally const&, Tally const&) = default;
};

/// Integrates a constant power over an interval. Splits the interval where the intensity changes
/// (IntensitySeries::pieces), so the result is exact.
[[nodiscard]] Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity,
                              GramsPerKwh threshold);

}  // namespace curtail::energy
