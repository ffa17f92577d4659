// SPDX-License-Identifier: Apache-2.0
#include "account/account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace curtail::account {

energy::Tally total_of(Account const& account)
{
    energy::Tally sum;
    for (auto const& site : account.sites) sum += site.bill.total;
    return sum;
}

WattHours inside_windows(Account const& account)
{
    WattHours sum;
    for (auto const& site : account.sites) sum += site.bill.inside_windows;
    return sum;
}

double training_s(Account const& account)
{
    double sum = 0;
    for (auto const& site : account.sites) sum += seconds_in(site, "training");
    return sum;
}

double allocated_s(Account const& account)
{
    double sum = 0;
    for (auto const& site : account.sites) sum += seconds_in(site);
    return sum;
}

FinalLoss const* LossAccount::final_of(std::string const& curve) const
{
    auto const found = std::find_if(finals.begin(), finals.end(),
                                    [&](FinalLoss const& f) { return f.id == curve; });
    return found != finals.end() ? &*found : nullptr;
}

double seconds_in(SiteAccount const& site, std::string const& name)
{
    double sum = 0;
    for (auto const& state : site.states)
        if (name.empty() || state.state == name) sum += state.when.to_s - state.when.from_s;
    return sum;
}

std::optional<double> carbon_ratio(energy::Tally const& part, energy::Tally const& other)
{
    if (!part.whole() || !other.whole() || other.carbon.value <= 0) return std::nullopt;
    return ratio(part.carbon, other.carbon);
}

std::vector<std::string> held_after_signal(Account const& account)
{
    std::vector<std::pair<std::string, std::string>> regions_by_text;
    for (auto const& s : account.always_on) {
        if (s.held_s <= 0) continue;
        auto const text = fmt::format(
            "the last {:.0f} s ({:.3f} of {:.3f} kWh) are after the signal's last sample, whose "
            "value is held",
            s.held_s, s.held_wh.value / 1000, s.range.front().energy.value / 1000);
        auto const same = std::find_if(regions_by_text.begin(), regions_by_text.end(),
                                       [&](auto const& r) { return r.first == text; });
        if (same == regions_by_text.end()) regions_by_text.emplace_back(text, s.region);
        else same->second += ", " + s.region;
    }
    std::vector<std::string> out;
    out.reserve(regions_by_text.size());
    for (auto const& [text, regions] : regions_by_text) out.push_back(regions + ": " + text);
    return out;
}

std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                std::optional<Latency> WindowAccount::*latency, bool others_trained)
{
    std::vector<double> seconds;
    for (auto const& w : windows)
        if (auto const& l = w.*latency; l && l->others_trained == others_trained)
            seconds.push_back(l->seconds);
    return spread_of(std::move(seconds));
}

std::optional<Spread> spread_of(std::vector<double> values)
{
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    auto const n = values.size();
    return Spread{n, values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

}  // namespace curtail::account
