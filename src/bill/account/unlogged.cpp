// SPDX-License-Identifier: Apache-2.0
#include "bill/account/unlogged.hpp"

namespace curtail::account {
namespace {

double trained_s(SiteTimeline const& site)
{
    double sum = 0;
    for (auto const& [state, when] : site.held_real)
        if (state == energy::PowerState::training) sum += when.length().count();
    return sum;
}

// Tells whether the logged states leave time for the steps that no line of the metrics records.
bool is_covered(Tokens committed, Tokens logged, SiteFiles const& site,
                std::optional<SiteRate> const& rate, SiteTimeline const& timeline)
{
    constexpr double enough = 1 - energy::Tally::most_unknown;
    if (ratio(logged, committed) >= enough) return true;
    // A step that no line records may have been faster than the others.
    constexpr double least_time = 0.75;
    // Without a step there is no rate with which the states could be checked.
    if (!rate) return trained_s(timeline) > 0;
    double seconds = 0;
    for (auto const& step : site.metrics) seconds += step.duration.count();
    double const missing = static_cast<double>((committed - logged).value);
    return trained_s(timeline) >= least_time * (seconds + missing / rate->tokens_per_s);
}

}  // namespace

std::vector<UnloggedWork> unlogged_work(RunFiles const& files, Timeline const& timeline,
                                        Work const& work,
                                        std::vector<std::optional<SiteRate>> const& rates)
{
    std::vector<UnloggedWork> out;
    for (auto const& [site, tokens] : work.other_sites) out.push_back({site, tokens, false});
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const committed = work.sites[s].tokens;
        if (committed <= Tokens{}) continue;
        Tokens logged;
        for (auto const& step : files.sites[s].metrics) logged += step.tokens;
        if (!is_covered(committed, logged, files.sites[s], rates[s], timeline.sites[s]))
            out.push_back({files.run.sites[s].site, committed - logged, true});
    }
    return out;
}

}  // namespace curtail::account
