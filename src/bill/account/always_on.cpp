// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bill/account/billing.hpp"
#include "bill/account/states_by_time.hpp"

namespace curtail::account {
namespace {

constexpr double chart_points = 400;

// The real intervals in which each site holds devices, in order.
std::vector<std::vector<energy::Interval>> held_by_site(Timeline const& timeline)
{
    std::vector<std::vector<energy::Interval>> out;
    for (auto const& site : timeline.sites) {
        auto& mine = out.emplace_back();
        for (auto const& s : site.held_real) {
            if (!mine.empty() && mine.back().to == s.when.from) mine.back().to = s.when.to;
            else mine.push_back(s.when);
        }
    }
    return out;
}

bool is_alone(std::vector<std::vector<energy::Interval>> const& held, std::size_t site,
              energy::Interval when)
{
    auto const ends_by = [](Time t, energy::Interval const& i) { return t < i.to; };
    for (std::size_t other = 0; other < held.size(); ++other) {
        auto const& mine = held[other];
        auto const it = std::upper_bound(mine.begin(), mine.end(), when.from, ends_by);
        if (other != site && it != mine.end() && it->from < when.to) return false;
    }
    return true;
}

// Whether the processes of a site did not run, or made no progress, during a part of a step.
bool is_interrupted(StatesByTime const& held, energy::Interval when)
{
    using energy::PowerState;
    return held.time_in(when, [](PowerState state) {
        return state == PowerState::suspended || state == PowerState::frozen ||
               state == PowerState::stalled;
    }) > FractionalSeconds{0};
}

// Says why always-on cannot be computed. The text is empty if it can.
std::string obstacle(RunFiles const& files, Tokens tokens,
                     std::vector<std::optional<SiteRate>> const& rates)
{
    if (tokens == Tokens{}) return "no commit holds trained tokens yet";
    if (std::none_of(rates.begin(), rates.end(), [](auto const& rate) { return !!rate; }))
        return "no site has logged a step, so there is no rate";
    return files.trace.empty() ? no_signal : "";
}

// The site that always-on imagines in one region.
struct ImaginedSite {
    std::size_t index;
    SiteRate rate;
};

bool is_in(RegionId const& region, SiteTimeline const& site)
{
    return site.settings.last().region == region;
}

// Whether a site is in a region, or was before its settings changed.
bool was_in(RegionId const& region, SiteTimeline const& site)
{
    return std::ranges::any_of(site.settings.all,
                               [&](auto const& then) { return then.site.region == region; });
}

// The first site of a region that has a rate, else the first one that was there. The reference site
// for a region without one.
std::optional<ImaginedSite> imagined_in(RegionId const& region, Timeline const& timeline,
                                        std::vector<std::optional<SiteRate>> const& rates)
{
    for (auto* const belongs : {&is_in, &was_in})
        for (std::size_t s = 0; s < rates.size(); ++s)
            if (rates[s] && belongs(region, timeline.sites[s])) return ImaginedSite{s, *rates[s]};
    auto const& rate = rates[timeline.reference];
    return rate ? std::optional(ImaginedSite{timeline.reference, *rate}) : std::nullopt;
}

// Always-on in one region.
struct Region {
    Scenario scenario;
    energy::Billings billings;
    energy::Interval when;
};

Region scenario_in(RegionSeries const& trace, ImaginedSite const& imagined, RunFiles const& files,
                   Timeline const& timeline, Tokens tokens)
{
    auto const& [index, rate] = imagined;
    auto const& axis = timeline.axis;
    auto const& id = files.run.sites[index].site.value;
    Region out{{}, imagined_billings_of(timeline, index, trace), {}};
    auto const start = trace.points.empty() ? axis.zero() : trace.points.front().time;
    auto const result =
        energy::always_on(tokens, rate.tokens_per_s / axis.factor(), start, out.billings);
    out.when = result.observed;
    auto& scenario = out.scenario;
    scenario.id = "one:" + trace.region.value;
    scenario.label = "Always on, " + trace.region.value;
    scenario.elsewhere = !was_in(trace.region, timeline.sites[index]);
    if (scenario.elsewhere) scenario.label += ", as " + id;
    scenario.region = trace.region.value;
    scenario.as_site = id;
    scenario.rate = rate;
    scenario.wall_s = result.when.length().count();
    scenario.step = static_cast<double>(timeline.sites[index].settings.paces.back().batch_tokens) /
                    rate.tokens_per_s;
    scenario.tally = result.tally;
    scenario.tokens = result.tokens;
    scenario.observed =
        result.when.length().count() > 0 ? result.observed.length() / result.when.length() : 1;
    return out;
}

RunningTotals running_totals(Region const& region, Axis const& axis, double step_s)
{
    std::vector<energy::StateInterval> const whole{{energy::PowerState::training, region.when}};
    auto const start = region.when.from;
    return {axis.of_signal(start),
            energy::cumulative(whole, region.billings, start, millis(step_s),
                               points_for(region.when.length().count(), step_s))};
}

// Tokens and seconds of some steps.
struct Pace {
    double tokens{0};
    double seconds{0};

    void add(StepMetrics const& step, FractionalSeconds least)
    {
        tokens += static_cast<double>(step.tokens);
        seconds += std::max(step.duration, least).count();
    }
    [[nodiscard]] std::optional<SiteRate> rate(bool lone) const
    {
        if (seconds <= 0 || tokens <= 0) return std::nullopt;
        return SiteRate{tokens / seconds, lone};
    }
};

}  // namespace

std::vector<std::optional<SiteRate>> rates_of(RunFiles const& files, Timeline const& timeline)
{
    auto const held = held_by_site(timeline);
    std::vector<std::optional<SiteRate>> rates;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        StatesByTime const states(timeline.sites[s].held_real);
        Pace lone, all;
        for (auto const& step : files.sites[s].metrics) {
            Time const begin = step.time - std::chrono::round<Millis>(step.duration);
            // The site's rate is that of the steps that ran.
            if (is_interrupted(states, {begin, step.time})) continue;
            auto const least = least_duration(timeline.sites[s], step);
            all.add(step, least);
            if (is_alone(held, s, {begin, step.time})) lone.add(step, least);
        }
        auto const rate = lone.rate(true);
        rates.push_back(rate ? rate : all.rate(false));
    }
    return rates;
}

AlwaysOn always_on_of(RunFiles const& files, Timeline const& timeline, Tokens tokens,
                      std::vector<std::optional<SiteRate>> const& rates)
{
    AlwaysOn out;
    out.missing = obstacle(files, tokens, rates);
    if (!out.missing.empty()) return out;
    std::vector<Region> regions;
    double longest_s = 0;
    for (auto const& trace : files.trace) {
        auto const imagined = imagined_in(trace.region, timeline, rates);
        if (!imagined) continue;
        regions.push_back(scenario_in(trace, *imagined, files, timeline, tokens));
        longest_s = std::max(longest_s, regions.back().when.length().count());
    }
    out.step_s = chart_step(longest_s, chart_points);
    for (auto& region : regions) {
        out.cumulative[region.scenario.region] = running_totals(region, timeline.axis, out.step_s);
        out.scenarios.push_back(std::move(region.scenario));
    }
    if (regions.empty())
        out.missing = "the reference site " + files.run.sites[timeline.reference].site.value +
                      " has logged no step (key reference_site of the run file)";
    return out;
}

}  // namespace curtail::account
