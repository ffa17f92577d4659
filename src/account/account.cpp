// SPDX-License-Identifier: Apache-2.0
#include "account/account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace curtail::account {

energy::Tally Account::total() const
{
    energy::Tally sum;
    for (auto const& site : sites) sum += site.ledger.total;
    return sum;
}

WattHours Account::inside_windows() const
{
    WattHours sum;
    for (auto const& site : sites) sum += site.ledger.inside_windows;
    return sum;
}

double Account::training_s() const
{
    double sum = 0;
    for (auto const& site : sites) sum += seconds_in(site, "training");
    return sum;
}

double Account::allocated_s() const
{
    double sum = 0;
    for (auto const& site : sites) sum += seconds_in(site);
    return sum;
}

double seconds_in(SiteAccount const& site, std::string const& kind)
{
    double sum = 0;
    for (auto const& state : site.states)
        if (kind.empty() || state.kind == kind) sum += state.when.to_s - state.when.from_s;
    return sum;
}

std::optional<double> carbon_ratio(energy::Tally const& part, energy::Tally const& other)
{
    if (!part.whole() || !other.whole() || other.carbon.value <= 0) return std::nullopt;
    return ratio(part.carbon, other.carbon);
}

std::vector<std::string> held_after_signal(Account const& account)
{
    std::vector<std::pair<std::string, std::string>> regions_by_words;
    for (auto const& s : account.always_on) {
        if (s.held_s <= 0) continue;
        auto const words = fmt::format(
            "the last {:.0f} s ({:.3f} of {:.3f} kWh) lie after the signal's last sample, whose "
            "value is held",
            s.held_s, s.held_wh.value / 1000, s.range.front().energy.value / 1000);
        auto const same = std::find_if(regions_by_words.begin(), regions_by_words.end(),
                                       [&](auto const& r) { return r.first == words; });
        if (same == regions_by_words.end()) regions_by_words.emplace_back(words, s.region);
        else same->second += ", " + s.region;
    }
    std::vector<std::string> out;
    out.reserve(regions_by_words.size());
    for (auto const& [words, regions] : regions_by_words) out.push_back(regions + ": " + words);
    return out;
}

std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                std::optional<Edge> WindowAccount::*edge, bool beside)
{
    std::vector<double> took;
    for (auto const& w : windows)
        if (auto const& e = w.*edge; e && e->beside == beside) took.push_back(e->took);
    return spread_of(std::move(took));
}

std::optional<Spread> spread_of(std::vector<double> values)
{
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    auto const n = values.size();
    return Spread{n, values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

}  // namespace curtail::account
