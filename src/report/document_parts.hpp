// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "report/document.hpp"

/// Parts of the document, one function per top-level key.
namespace curtail::report {

/// `value` with `digits` decimals, which is enough for a chart and keeps the page small.
[[nodiscard]] inline double rounded(double value, int digits)
{
    double const scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}
[[nodiscard]] json::Value rounded(account::MaybeSeconds value, int digits);
[[nodiscard]] json::Array rounded(std::vector<double> const& values, int digits);
/// Grams in kg, or Wh in kWh; an empty value stays empty.
template <class Unit>
[[nodiscard]] std::optional<double> in_kilo(std::optional<Quantity<Unit>> value)
{
    return value ? std::optional(value->value / 1000) : std::nullopt;
}
[[nodiscard]] inline std::optional<double> in_grams(std::optional<Grams> value)
{
    return value ? std::optional(value->value) : std::nullopt;
}
/// The carbon of a tally in grams; null if it is unknown.
[[nodiscard]] json::Value grams(energy::Tally const& tally, int digits);

[[nodiscard]] json::Value headline_json(account::Account const& account);
[[nodiscard]] json::Value totals_json(account::Account const& account);
[[nodiscard]] json::Value commits_json(account::Account const& account);
[[nodiscard]] json::Value signals_json(account::Account const& account);
[[nodiscard]] json::Value windows_json(account::Account const& account);
[[nodiscard]] json::Value rounds_json(account::Account const& account);
[[nodiscard]] json::Value loss_json(account::Account const& account);
[[nodiscard]] json::Value energy_json(account::Account const& account);
[[nodiscard]] json::Value times_json(account::Account const& account);
[[nodiscard]] json::Value latencies_json(account::Account const& account);
[[nodiscard]] json::Value comparison_json(account::Account const& account);

}  // namespace curtail::report
