// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/billing.hpp"
#include "bill/account/checks.hpp"

namespace curtail::account {
namespace {

using energy::Bound;

// Says what is wrong with the meter of a site whose model has `modelled`. The text is empty if
// nothing is.
std::string trouble(SiteRecords const& r, Watts modelled)
{
    constexpr double far = 4;
    constexpr std::size_t enough = 10;
    std::vector<double> values;
    for (auto const& step : r.files.metrics)
        if (step.metered_j) values.push_back(*step.metered_j);
    auto const negative = std::ranges::count_if(values, [](double value) { return value < 0; });
    if (negative > 0) return fmt::format("is negative in {} steps", negative);
    auto const mean = r.timeline.metered->mean();
    if (mean <= Watts{}) return "is 0";
    bool const is_constant =
        values.size() >= enough &&
        std::ranges::all_of(values, [&](double value) { return value == values.front(); });
    if (is_constant) return fmt::format("is {:g} J in each step", values.front());
    if (mean.value > far * modelled.value || far * mean.value < modelled.value)
        return fmt::format("is {:.3g} kW on average, and the site file has {:.3g} kW",
                           mean.value / 1000, modelled.value / 1000);
    return "";
}

}  // namespace

void check_meters(Doubts& doubts, SiteRecords const& r)
{
    auto const& last = r.timeline.settings.last();
    if (!last.power || !r.is_live || r.files.metrics.empty()) return;
    auto const all = r.steps.between(Time::min(), Time::max());
    auto const when = span_text({interval_of(all.front()).from, all.back().time});
    auto const& metered = r.timeline.metered;
    bool const is_used = power_of(r.timeline, last) != last.power;
    auto const add = [&](Bound bound, std::string text) {
        doubts.push_back({r.index, bound, "Meter", std::move(text)});
    };
    if (last.meter && (!metered || metered->share < MeteredTraining::least_share))
        add(Bound::exact,
            fmt::format("{}: power.meter of the site file names energy_j, and too few "
                        "steps of metrics.jsonl have it, {}. The bill has the model.",
                        r.name(), when));
    if (!metered) return;
    auto const modelled = last.power->training - last.meter.value_or(config::Meter{}).rest;
    if (auto const what = trouble(r, modelled); !what.empty())
        add(is_used ? Bound::uncertain : Bound::exact,
            fmt::format("{}: energy_j in metrics.jsonl {}, {}. The bill {} it.", r.name(), what,
                        when, is_used ? "uses" : "does not use"));
}

}  // namespace curtail::account
