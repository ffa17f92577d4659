// SPDX-License-Identifier: Apache-2.0
#include "run/energy/tally.hpp"

#include <algorithm>

namespace curtail::energy {
namespace {

Tally of_piece(Watts power, IntensityPiece const& piece, GramsPerKwh threshold)
{
    WattHours const energy = power * piece.when.length();
    if (!piece.intensity)
        return {.energy = energy, .clean = {}, .unknown = energy, .carbon = {}, .carbon_dirty = {}};
    bool const clean = *piece.intensity < threshold;
    Grams const change = energy * *piece.intensity;
    Grams const carbon = std::max(change, Grams{});
    return {.energy = energy,
            .clean = clean ? energy : WattHours{},
            .unknown = {},
            .carbon = carbon,
            .carbon_dirty = clean ? Grams{} : carbon,
            .avoided = carbon - change};
}

}  // namespace

Tally& Tally::operator+=(Tally const& other)
{
    energy += other.energy;
    clean += other.clean;
    unknown += other.unknown;
    carbon += other.carbon;
    carbon_dirty += other.carbon_dirty;
    avoided += other.avoided;
    blind = blind || other.blind;
    bound = bound | other.bound;
    unpowered = unpowered || other.unpowered;
    return *this;
}

std::optional<double> Tally::clean_share() const
{
    if (known_energy().value <= 0 || !known()) return std::nullopt;
    return ratio(clean, energy);
}

std::optional<GramsPerKwh> Tally::mean_intensity() const
{
    if (known_energy().value <= 0 || !known()) return std::nullopt;
    return GramsPerKwh{carbon.value / known_energy().value * 1000};
}

Tally integrate(Watts power, Interval interval, IntensitySeries const& intensity,
                GramsPerKwh threshold)
{
    Tally sum;
    for (auto const& piece : intensity.pieces(interval)) sum += of_piece(power, piece, threshold);
    sum.blind = intensity.blind() && sum.energy.value > 0;
    return sum;
}

}  // namespace curtail::energy
