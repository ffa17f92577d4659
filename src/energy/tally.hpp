// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "energy/intensity.hpp"

namespace curtail::energy {

/// Energy drawn and carbon caused in some time. Tallies can be added.
///
/// `carbon` and `carbon_dirty` are sums over energy of known intensity. To report a figure, use the
/// accessors: they return nothing where an unknown figure would otherwise read as 0.
struct Tally {
    WattHours energy;    ///< all of it
    WattHours clean;     ///< part drawn below the threshold: it would have been curtailed
    WattHours unknown;   ///< part drawn at unknown intensity
    Grams carbon;        ///< of `energy` without `unknown`
    Grams carbon_dirty;  ///< part of `carbon` caused at or above the threshold
    bool blind{false};   ///< some energy was drawn in a region whose signal has no value at all

    Tally& operator+=(Tally const& other);
    /// The carbon is known at least in part: some energy has a known intensity and none was drawn
    /// in a region without a signal, or there is no energy.
    [[nodiscard]] bool known() const { return energy.value <= 0 || (!blind && unknown < energy); }
    /// The carbon is known except for at most `most_unknown` of the energy. Otherwise it is a lower
    /// bound.
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
    /// Energy of known intensity.
    [[nodiscard]] WattHours known_energy() const { return energy - unknown; }
    /// Energy drawn at or above the threshold.
    [[nodiscard]] std::optional<WattHours> dirty() const
    {
        return known() ? std::optional(known_energy() - clean) : std::nullopt;
    }
    /// clean / known_energy(); empty if that is 0. Energy of unknown intensity is neither clean nor
    /// dirty.
    [[nodiscard]] std::optional<double> clean_share() const;
    /// carbon / known_energy(); empty if that is 0.
    [[nodiscard]] std::optional<GramsPerKwh> mean_intensity() const;
    friend bool operator==(Tally const&, Tally const&) = default;
};

/// Integrates constant power over an interval, exactly: intensity is linear within each piece, and
/// a piece that crosses `threshold` is cut at the crossing.
[[nodiscard]] Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity,
                              GramsPerKwh threshold);

}  // namespace curtail::energy
