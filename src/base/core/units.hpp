// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>

namespace curtail {

/// A number whose type states its unit. The compiler never converts between units by itself. Only
/// operators with a physical meaning exist.
template <class Unit, class Number = double>
struct Quantity {
    Number value{};
    friend constexpr auto operator<=>(Quantity, Quantity) = default;
    friend constexpr Quantity operator+(Quantity a, Quantity b)
    {
        return {static_cast<Number>(a.value + b.value)};
    }
    friend constexpr Quantity operator-(Quantity a, Quantity b)
    {
        return {static_cast<Number>(a.value - b.value)};
    }
    constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
    constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
    friend constexpr Quantity operator*(Number factor, Quantity a)
    {
        return {static_cast<Number>(factor * a.value)};
    }
    /// Returns the number without its unit.
    explicit constexpr operator double() const { return static_cast<double>(value); }
};

using Watts = Quantity<struct WattUnit>;
using WattHours = Quantity<struct WattHourUnit>;
using Grams = Quantity<struct GramUnit>;               ///< of CO2
using GramsPerKwh = Quantity<struct GramsPerKwhUnit>;  ///< gCO2 per kWh consumed
using Tokens = Quantity<struct TokenUnit, std::int64_t>;
using Bytes = Quantity<struct ByteUnit, std::int64_t>;

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;
using FractionalSeconds = std::chrono::duration<double>;

constexpr WattHours operator*(Watts power, FractionalSeconds time)
{
    return {power.value * time.count() / 3600};
}
constexpr Grams operator*(WattHours energy, GramsPerKwh intensity)
{
    return {energy.value / 1000 * intensity.value};
}
/// Returns a / b, which has no unit. The result is infinite or NaN if b is zero.
template <class Unit, class Number>
constexpr double ratio(Quantity<Unit, Number> a, Quantity<Unit, Number> b)
{
    return static_cast<double>(a) / static_cast<double>(b);
}
/// Returns the quotient of the integer division of a by b. Example: a number of tokens, divided by
/// the tokens of one block, gives the number of whole blocks.
template <class Unit, std::integral Number>
constexpr Number operator/(Quantity<Unit, Number> a, Quantity<Unit, Number> b)
{
    return a.value / b.value;
}
/// Returns the remainder of the integer division of a by b.
template <class Unit, std::integral Number>
constexpr Quantity<Unit, Number> operator%(Quantity<Unit, Number> a, Quantity<Unit, Number> b)
{
    return {a.value % b.value};
}

/// The factor that converts pounds per MWh, the unit of WattTime, to g/kWh. The exact factor is
/// 0.45359237, the number of kilograms in a pound, because 1 g/kWh is 1 kg/MWh. Curtail rounds the
/// factor to 0.453592, as the authors of arXiv:2602.22760 did. With the same factor, Curtail
/// computes the same intensities as they did.
inline constexpr double grams_per_kwh_per_lb_per_mwh = 0.453592;
constexpr GramsPerKwh from_lbs_per_mwh(double lbs_co2_per_mwh)
{
    return {lbs_co2_per_mwh * grams_per_kwh_per_lb_per_mwh};
}

}  // namespace curtail
