// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "account/account_of.hpp"
#include "account/thin.hpp"

namespace curtail::account {
namespace {

constexpr double always_on_points = 400;
constexpr char const* no_signal = "no trace was given (--trace) and the poller kept no samples";

energy::IntensitySeries series_of(RunFiles const& files, RegionId const& region)
{
    for (auto const& trace : files.trace)
        if (trace.region == region) return energy::IntensitySeries{trace.readings};
    return energy::IntensitySeries{{}};
}

energy::Rules rules_of(RunFiles const& files, config::Site const& site)
{
    std::string const signal = files.trace.empty() ? "no signal" : files.trace_name;
    return {{site.power.idle, site.power.training},
            site.window.open_below,
            {energy::Kind::modelled, "two power levels, no meter"},
            {energy::Kind::modelled, "power model x " + signal}};
}

/// A step that shows `seconds` with at most `points` points, in whole minutes.
double chart_step(double seconds, double points)
{
    return 60 * std::max(1.0, std::ceil(seconds / points / 60));
}

std::size_t points_for(double seconds, double step)
{
    return static_cast<std::size_t>(std::ceil(std::max(0.0, seconds) / step)) + 1;
}

Millis millis(double seconds) { return std::chrono::round<Millis>(FractionalSeconds(seconds)); }

/// Windows on the signal's axis, in order and apart, open ones up to the end.
std::vector<energy::Interval> windows_of(Account const& account, std::size_t site, Axis const& axis)
{
    std::vector<energy::Interval> out;
    for (auto const& w : account.windows) {
        if (w.site != site) continue;
        Time const open = axis.moment(w.open_s);
        Time const from = out.empty() ? open : std::max(open, out.back().to);
        Time const to = axis.moment(w.close_s.value_or(account.end_s));
        if (from < to) out.push_back({from, to});
    }
    return out;
}

/// Real stretches in which each site holds devices, in order.
std::vector<std::vector<energy::Interval>> holdings(RunStory const& story)
{
    std::vector<std::vector<energy::Interval>> out;
    for (auto const& site : story.sites) {
        auto& mine = out.emplace_back();
        for (auto const& s : site.held_real) {
            if (!mine.empty() && mine.back().to == s.when.from) mine.back().to = s.when.to;
            else mine.push_back(s.when);
        }
    }
    return out;
}

bool overlaps(std::vector<energy::Interval> const& in_order, Time from, Time to)
{
    auto const it = std::upper_bound(in_order.begin(), in_order.end(), from,
                                     [](Time t, energy::Interval const& i) { return t < i.to; });
    return it != in_order.end() && it->from < to;
}

}  // namespace

void fill_energy(RunFiles const& files, RunStory const& story, Account& account)
{
    account.cumulative_step_s = chart_step(account.end_s, most_points_of_a_line);
    auto const points = points_for(account.end_s, account.cumulative_step_s);
    for (std::size_t s = 0; s < account.sites.size(); ++s) {
        auto const rules = rules_of(files, files.run.sites[s]);
        auto const series = series_of(files, account.sites[s].region);
        auto const& held = story.sites[s].held;
        auto const windows = windows_of(account, s, story.axis);
        account.sites[s].ledger = energy::account(held, windows, series, rules);
        account.sites[s].cumulative = energy::cumulative(held, series, rules, story.axis.zero(),
                                                         millis(account.cumulative_step_s), points);
        std::vector<WindowAccount*> mine;
        for (auto& w : account.windows)
            if (w.site == s) mine.push_back(&w);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            Time const to =
                i + 1 < mine.size() ? story.axis.moment(mine[i + 1]->open_s) : Time::max();
            auto const part = energy::clip(held, {story.axis.moment(mine[i]->open_s), to});
            mine[i]->tally = energy::account(part, {}, series, rules).total;
        }
        for (auto& round : account.rounds) {
            auto const part = energy::clip(
                held, {story.axis.moment(round.start_s), story.axis.moment(round.end_s)});
            round.tally += energy::account(part, {}, series, rules).total;
        }
    }
}

std::optional<double> lone_rate(RunFiles const& files, RunStory const& story)
{
    auto const held = holdings(story);
    double tokens = 0;
    double seconds = 0;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        for (auto const& row : files.sites[s].metrics) {
            Time const from = row.time - millis(row.duration.count());
            bool alone = true;
            for (std::size_t other = 0; other < held.size() && alone; ++other)
                alone = other == s || !overlaps(held[other], from, row.time);
            if (!alone) continue;
            tokens += static_cast<double>(row.tokens.value);
            seconds += row.duration.count();
        }
    }
    if (seconds <= 0 || tokens <= 0) return std::nullopt;
    return tokens / seconds;
}

void fill_unknown(RunFiles const& files, Account& account)
{
    if (files.trace.empty()) {
        account.missing["carbon"] = no_signal;
        return;
    }
    std::string blind;
    for (auto const& site : account.sites)
        if (site.ledger.total.blind) blind += (blind.empty() ? "" : ", ") + site.region.value;
    if (!blind.empty()) account.missing["carbon"] = files.trace_name + " has no value for " + blind;
    else if (!account.total().known())
        account.missing["carbon"] = files.trace_name + " has no value while the sites held devices";
}

void fill_always_on(RunFiles const& files, RunStory const& story, Account& account)
{
    account.lone_rate = lone_rate(files, story);
    if (account.tokens == 0) account.missing["always_on"] = "no commit holds trained tokens yet";
    else if (!account.lone_rate)
        account.missing["always_on"] =
            "no step ran while no other site held devices, so there is no lone rate";
    else if (files.trace.empty()) account.missing["always_on"] = no_signal;
    if (account.missing.count("always_on")) return;
    double const rate =
        *account.lone_rate / account.clock_factor;  // per second of the signal's clock
    for (auto const& trace : files.trace) {
        auto const own =
            std::find_if(files.run.sites.begin(), files.run.sites.end(),
                         [&](config::Site const& s) { return s.region == trace.region; });
        auto const rules =
            rules_of(files, own == files.run.sites.end() ? files.run.sites.front() : *own);
        energy::IntensitySeries const series{trace.readings, energy::PastEnds::hold};
        auto const start = trace.readings.empty() ? story.axis.zero() : trace.readings.front().time;
        auto const result = energy::always_on({account.tokens}, rate, start, series, rules);
        auto const wall = result.when.length().count();
        Scenario scenario{"one:" + trace.region.value,
                          "Always on, " + trace.region.value,
                          trace.region.value,
                          1,
                          wall,
                          {},
                          {result.tally},
                          account.tokens,
                          {},
                          {}};
        scenario.step = static_cast<double>(files.run.training.batch_tokens) / *account.lone_rate;
        scenario.held_s = result.held.length().count();
        scenario.held_wh = rules.power.training * result.held.length();
        account.always_on.push_back(std::move(scenario));
        account.always_on_step_s = chart_step(wall, always_on_points);
        std::vector<energy::StateInterval> const whole{{energy::State::training, result.when}};
        account.always_on_cumulative[trace.region.value] = {
            story.axis.of_signal(start),
            energy::cumulative(whole, series, rules, start, millis(account.always_on_step_s),
                               points_for(wall, account.always_on_step_s))};
    }
}

}  // namespace curtail::account
