// SPDX-License-Identifier: Apache-2.0
#include "energy/tally.hpp"

namespace curtail::energy {
namespace {

constexpr GramsPerKwh mean(GramsPerKwh a, GramsPerKwh b) { return 0.5 * (a + b); }

// Energy of a known piece that does not cross the threshold inside.
Tally uniform(WattHours energy, GramsPerKwh begin, GramsPerKwh end, bool clean)
{
    Grams const carbon = energy * mean(begin, end);
    return {.energy = energy,
            .clean = clean ? energy : WattHours{},
            .unknown = {},
            .carbon = carbon,
            .carbon_dirty = clean ? Grams{} : carbon};
}

Tally of_piece(Watts power, IntensityPiece const& piece, GramsPerKwh threshold)
{
    WattHours const energy = power * piece.when.length();
    if (!piece.known)
        return {.energy = energy, .clean = {}, .unknown = energy, .carbon = {}, .carbon_dirty = {}};
    bool const clean_begin = piece.begin < threshold;
    bool const clean_end = piece.end < threshold;
    if (clean_begin == clean_end) return uniform(energy, piece.begin, piece.end, clean_begin);
    double const crossing = ratio(threshold - piece.begin, piece.end - piece.begin);
    Tally tally = uniform(crossing * energy, piece.begin, threshold, clean_begin);
    tally += uniform((1 - crossing) * energy, threshold, piece.end, clean_end);
    return tally;
}

}  // namespace

Tally& Tally::operator+=(Tally const& other)
{
    energy += other.energy;
    clean += other.clean;
    unknown += other.unknown;
    carbon += other.carbon;
    carbon_dirty += other.carbon_dirty;
    blind = blind || other.blind;
    partial = partial || other.partial;
    return *this;
}

std::optional<double> Tally::clean_share() const
{
    if (known_energy().value <= 0 || blind || partial) return std::nullopt;
    return ratio(clean, known_energy());
}

std::optional<GramsPerKwh> Tally::mean_intensity() const
{
    if (known_energy().value <= 0 || blind || partial) return std::nullopt;
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
