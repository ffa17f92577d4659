// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>

namespace curtail {

/// A number with its unit in its type. No implicit conversions; only operators with a physical
/// meaning.
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
};

using Watts = Quantity<struct WattUnit>;
using WattHours = Quantity<struct WattHourUnit>;
using Grams = Quantity<struct GramUnit>;               ///< of CO2 equivalent
using GramsPerKwh = Quantity<struct GramsPerKwhUnit>;  ///< gCO2e per kWh at the plug
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
/// a / b.
template <class Unit, class Number>
constexpr double ratio(Quantity<Unit, Number> a, Quantity<Unit, Number> b)
{
    return static_cast<double>(a.value) / static_cast<double>(b.value);
}

/// WattTime reports pounds of CO2 per MWh. With 0.453592 kg per pound, the results match the
/// reference's trace exactly.
inline constexpr double grams_per_kwh_of_one_lb_per_mwh = 0.453592;
constexpr GramsPerKwh from_lbs_per_mwh(double lbs_co2_per_mwh)
{
    return {lbs_co2_per_mwh * grams_per_kwh_of_one_lb_per_mwh};
}

}  // namespace curtail
