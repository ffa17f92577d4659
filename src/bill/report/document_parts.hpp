// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "bill/account/scenario.hpp"
#include "bill/report/document.hpp"
#include "run/energy/bill.hpp"

// Makes parts of the document (document.hpp). Each function named `..._json` makes one part.
namespace curtail::report {

/// Rounds a point of a long series to `digits` decimals, to keep the page small.
[[nodiscard]] inline double rounded(double value, int digits)
{
    double const scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}
/// Converts grams to kg, or Wh to kWh. An empty value stays empty.
template <class Unit>
[[nodiscard]] std::optional<double> in_kilo(std::optional<Quantity<Unit>> value)
{
    return value ? std::optional(value->value / 1000) : std::nullopt;
}
/// Returns the number of grams. An empty value stays empty.
[[nodiscard]] inline std::optional<double> in_grams(std::optional<Grams> value)
{
    return value ? std::optional(value->value) : std::nullopt;
}
/// Makes an object that has `value(site)` for each site, by the sites' names.
template <class Value>
[[nodiscard]] json::Object by_site(account::Account const& account, Value const& value)
{
    json::Object out;
    for (auto const& site : account.sites) out.set(site.id.value, value(site));
    return out;
}
/// Adds the energy and carbon of a window, of a round or of other parts of a run. Energy is in kWh,
/// CO2 in grams.
json::Object& add_tally(json::Object& out, energy::Tally const& tally);

/// Returns null if `rate` is empty.
[[nodiscard]] json::Value rate_json(std::optional<account::SiteRate> const& rate);
[[nodiscard]] json::Value headline_json(account::Account const& account);
/// `account.target` must not be empty.
[[nodiscard]] json::Value now_json(account::Account const& account);
[[nodiscard]] json::Value totals_json(account::Account const& account);
[[nodiscard]] json::Value commits_json(account::Account const& account);
[[nodiscard]] json::Value signals_json(account::Account const& account);
[[nodiscard]] json::Value windows_json(account::Account const& account);
[[nodiscard]] json::Value rounds_json(account::Account const& account);
[[nodiscard]] json::Value loss_json(account::Account const& account);
/// Makes the list of the held-out losses in the sites' journals.
[[nodiscard]] json::Value held_out_json(account::Account const& account);
/// `newest_held_out`, and `headline.held_out`.
[[nodiscard]] json::Value newest_held_out_json(account::HeldOut const& held_out);
[[nodiscard]] json::Value energy_json(account::Account const& account);
[[nodiscard]] json::Value times_json(account::Account const& account);
[[nodiscard]] json::Value latencies_json(account::Account const& account);
[[nodiscard]] json::Value comparison_json(account::Account const& account);

}  // namespace curtail::report
