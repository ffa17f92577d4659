// SPDX-License-Identifier: Apache-2.0
// Values that are possible, and that probably have another unit than the one they should have.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/signal.hpp"

namespace curtail::account {
namespace {

// Says why the values of a region may be no g/kWh. The text is empty if nothing suggests it.
std::string unit_hint(RegionSeries const& series)
{
    std::set<double> values;
    for (auto const& point : series.points)
        if (point.intensity) values.insert(point.intensity->value);
    if (values.empty() || *values.begin() < 0 || *values.rbegin() <= 0) return "";
    constexpr double least_maximum = 5;
    if (*values.rbegin() <= least_maximum)
        return fmt::format("No value is above {:g} g/kWh. Are they kg/kWh?", *values.rbegin());
    constexpr std::size_t many = 10;
    if (*values.rbegin() <= 100 && values.size() >= many)
        return "All values lie between 0 and 100 g/kWh. Are they percentiles or percentages?";
    return "";
}

// Says that a site's window cannot stay open between two samples. The text is empty if it can.
std::string period_hint(RegionSeries const& series, config::Site const& settings)
{
    std::optional<Millis> longest;
    for (auto const& point : series.points)
        if (point.period) longest = std::max(longest.value_or(*point.period), *point.period);
    if (!longest || *longest <= settings.signal_max_age) return "";
    return fmt::format(
        "Samples of {} hold for {:g} s, and signal_max_age_s is {:g}. A window of {} "
        "closes between two of them.",
        printable(series.region.value), FractionalSeconds(*longest).count(),
        FractionalSeconds(settings.signal_max_age).count(), settings.site.value);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> hints_of(RunFiles const& files,
                                                          Timeline const& timeline)
{
    std::vector<std::pair<std::string, std::string>> hints;
    auto const add = [&](char const* title, std::string const& text) {
        if (!text.empty()) hints.emplace_back(title, text);
    };
    for (auto const& series : files.trace)
        if (auto const hint = unit_hint(series); !hint.empty())
            add("Check the unit", "Signal of " + printable(series.region.value) + ": " + hint);
    for (std::size_t s = 0; s < timeline.sites.size(); ++s) {
        auto const& settings = timeline.sites[s].settings.last();
        constexpr double most_watts_per_rank = 100'000;
        if (settings.power && settings.power->training.value > most_watts_per_rank * settings.ranks)
            add("Check the unit",
                fmt::format("Power of {}: training_kw is {:g} for {} ranks. Is it in W?",
                            settings.site.value, settings.power->training.value / 1000,
                            settings.ranks));
        if (auto const* series = find_region(files.trace, settings.region))
            add("Period of the signal", period_hint(*series, settings));
    }
    return hints;
}

}  // namespace curtail::account
