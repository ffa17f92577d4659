// SPDX-License-Identifier: Apache-2.0
#include "bill/account/account_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bill/account/accounting.hpp"
#include "bill/account/billing.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/tail.hpp"
#include "bill/account/unlogged.hpp"

namespace curtail::account {
namespace {

bool is_metered(SiteTimeline const& timeline, config::Site const& settings)
{
    return settings.power && power_of(timeline, settings) != settings.power;
}

std::vector<SettingsThen> settings_of(SiteTimeline const& timeline, Axis const& axis)
{
    std::vector<SettingsThen> out;
    for (auto const& [from, site] : timeline.settings.all)
        out.push_back({from, out.empty() ? 0 : axis.at(from), site.region, site.power,
                       site.later_pues, site.between_jobs, site.power_source,
                       is_metered(timeline, site), site.window.open_below});
    return out;
}

// One site without its energy and work.
SiteAccount site_of(SiteTimeline const& timeline, Axis const& axis, double end_s)
{
    auto const& config = timeline.settings.last();
    SiteAccount site;
    site.id = config.site;
    site.region = config.region;
    site.label = config.site.value;
    site.devices = config.devices;
    site.settings = settings_of(timeline, axis);
    site.power = config.power;
    site.later_pues = config.later_pues;
    site.between_jobs = config.between_jobs;
    if (timeline.metered) {
        bool const is_used = std::ranges::any_of(site.settings, &SettingsThen::is_metered);
        site.metered = SiteAccount::Metered{timeline.metered->mean(), timeline.metered->seconds,
                                            timeline.metered->share, is_used,
                                            config.meter && config.meter->covers_node};
    }
    site.power_source = config.power_source;
    site.embodied_gco2_per_hour = config.embodied_gco2_per_hour;
    site.open_below = config.window.open_below;
    site.close_above = config.window.close_above;
    site.close_delay_s = FractionalSeconds(config.window.close_delay).count();
    site.states = timeline.states;
    site.drain = spread_of(timeline.drains);
    site.closed_s = std::max(0.0, end_s - seconds_in(site));
    return site;
}

std::vector<SiteAccount> sites_of(RunFiles const& files, Timeline const& timeline,
                                  std::vector<std::optional<SiteRate>> const& rates)
{
    std::vector<SiteAccount> out;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s) {
        auto& site = out.emplace_back(site_of(timeline.sites[s], timeline.axis, timeline.end_s));
        std::vector<double> starts;
        for (auto const& w : timeline.windows)
            if (w.site == s && w.start) starts.push_back(w.start->seconds);
        site.startup = spread_of(std::move(starts));
        site.rate = rates[s];
        site.trained_tokens = Tokens{};
        for (auto const& step : files.sites[s].metrics) *site.trained_tokens += step.tokens;
        site.publication = files.sites[s].publication;
        auto const& id = files.run.sites[s].site;
        site.accounting = last_answer(files.poller_events, id);
        // A replay has the power of other hardware.
        if (timeline.axis.factor() == 1)
            site.slurm_energy =
                slurm_energy(accounted_jobs(files.poller_events, id), timeline.sites[s]);
        site.unpublished = FractionalSeconds(timeline.sites[s].unpublished).count();
    }
    return out;
}

std::vector<WorkBalance> balances_of(RunFiles const& files)
{
    std::vector<WorkLog> logs;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& site = files.sites[s];
        logs.push_back({files.run.sites[s].site, site.events, site.metrics, site.publication});
    }
    return balances_of(files.commits, logs);
}

std::optional<Target> target_of(RunFiles const& files)
{
    if (!files.spec) return std::nullopt;
    auto const& spec = *files.spec;
    auto const block = spec.params.block_tokens;
    return Target{spec.stream_blocks() * block, spec.blocks_per_epoch * block, spec.epochs,
                  spec.budget.has_value()};
}

// The speed from each site's newest steps: as many as can matter to it.
std::optional<Speed> speed_of(RunFiles const& files)
{
    std::vector<StepWork> work;
    for (auto const& site : files.sites) {
        FractionalSeconds duration{0};
        for (auto step = site.metrics.rbegin();
             step != site.metrics.rend() && duration < speed_window; ++step) {
            work.push_back({step->time, step->duration, step->tokens});
            duration += step->duration;
        }
    }
    return speed_of(work);
}

// The bill of a site with unlogged work lacks the energy of that work, and a bill with a long
// unpublished end lacks the energy of that time. What contradicts itself may be too high or too
// low.
void mark_bounds(Account& account)
{
    for (auto& site : account.sites) {
        auto const mark = [&](energy::Bound bound) {
            site.bill.total.bound = site.bill.total.bound | bound;
        };
        for (auto const& work : account.unlogged)
            if (work.site == site.id) mark(energy::Bound::at_least);
        for (auto const& doubt : account.doubts)
            if (!doubt.site || account.sites[*doubt.site].id == site.id) mark(doubt.bound);
        if (lacks_energy(site, account.clock_factor)) mark(energy::Bound::at_least);
    }
}

// Name, model and clock.
Account heading_of(RunFiles const& files, Timeline const& timeline)
{
    Account account;
    account.name = files.run.run.value;
    account.title = "Run " + files.run.run.value;
    account.status = status_of(files, timeline);
    account.parameters = files.run.model.parameters();
    account.model = fmt::format("GPT of depth {}, {:.3g} M parameters", files.run.model.layers,
                                static_cast<double>(account.parameters) * 1e-6);
    account.time_zero = timeline.axis.zero();
    account.clock_factor = timeline.axis.factor();
    account.end_s = timeline.end_s;
    account.signal_provider = files.trace_name;
    account.signals = files.trace;
    account.estimated_samples = files.estimated_samples;
    account.intensity_rules = intensity_rules_of(files, timeline);
    for (auto const& region : files.trace)
        if (!region.points.empty())
            account.trace_end_s =
                std::max(account.trace_end_s, timeline.axis.of_signal(region.points.back().time));
    for (auto const& site : files.sites)
        for (auto const& step : site.metrics)
            account.last_step_s =
                std::max(account.last_step_s.value_or(0), timeline.axis.at(step.time));
    account.decisions = timeline.decisions;
    account.events = events_of(files, timeline.axis);
    return account;
}

// `energy` must have been computed from `windows` and `work.rounds`.
void add_work_and_energy(Account& account, std::vector<WindowAccount> windows, Work work,
                         Energy energy)
{
    for (std::size_t s = 0; s < account.sites.size(); ++s) {
        auto& site = account.sites[s];
        site.tokens = work.sites[s].tokens;
        site.joint_rounds = work.sites[s].joint_rounds;
        site.lone_rounds = work.sites[s].lone_rounds;
        site.bill = std::move(energy.sites[s].bill);
        site.cumulative = std::move(energy.sites[s].cumulative);
        site.embodied = energy.sites[s].embodied;
        site.if_idle = energy.sites[s].if_idle;
    }
    account.windows = std::move(windows);
    for (std::size_t w = 0; w < energy.windows.size(); ++w)
        account.windows[w].tally = energy.windows[w];
    account.rounds = std::move(work.rounds);
    for (std::size_t r = 0; r < energy.rounds.size(); ++r)
        account.rounds[r].tally = energy.rounds[r];
    account.round_summary = work.summary;
    account.commits = work.commits;
    account.tokens = work.tokens;
    account.inherited = work.inherited;
    account.cumulative_step_s = energy.cumulative_step_s;
}

enum class Lines { all, fixed };

Account account_of_lines(RunFiles const& files, Lines lines);

void add_fixed(Account& account, RunFiles const& files, Timeline const& timeline)
{
    account.fixed = std::make_shared<Account const>(account_of_lines(*files.fixed, Lines::fixed));
    auto const tails = tails_of(files, timeline, *files.fixed);
    for (std::size_t s = 0; s < tails.size(); ++s) account.sites[s].tail = tails[s];
}

Account account_of_lines(RunFiles const& files, Lines lines)
{
    auto const timeline = timeline_of(files);
    auto windows = windows_of(files, timeline);
    auto work = work_of(files, timeline);
    auto energy = energy_of(files, timeline, windows, work.rounds);
    auto const rates = rates_of(files, timeline);
    auto always_on = always_on_of(files, timeline, work.tokens - work.inherited, rates);
    auto const evaluation = evaluation_of(files);

    auto account = heading_of(files, timeline);
    auto training = training_of(files, timeline, account.last_step_s);
    account.sites = sites_of(files, timeline, rates);
    // What comes after the fixed lines is missing, so nothing follows from contradictions.
    if (lines == Lines::all) {
        account.unlogged = unlogged_work(files, timeline, work, rates);
        account.doubts = doubts_of(files, timeline, work, energy);
        std::ranges::move(line_doubts_of(files, timeline), std::back_inserter(account.doubts));
    }
    add_work_and_energy(account, std::move(windows), std::move(work), std::move(energy));
    if (lines == Lines::all) mark_bounds(account);
    account.balances = balances_of(files);
    if (files.spec) account.stuck = warnings_of(account.balances, files.spec->params);
    account.loss = std::move(training.loss);
    account.step = training.step;
    account.target = target_of(files);
    account.speed = speed_of(files);
    account.average = average_of(files, timeline);
    if (account.average) account.average->bound = account.average->bound | total_of(account).bound;
    account.held_out = evaluation.held_out;
    account.followed = followed_losses(files, timeline.axis);
    account.always_on = std::move(always_on.scenarios);
    account.always_on_cumulative = std::move(always_on.cumulative);
    account.always_on_step_s = always_on.step_s;
    account.run_digest = files.run_digest;
    if (files.fixed) add_fixed(account, files, timeline);
    if (files.recalculated) {
        account.recalculated = std::make_shared<Account const>(account_of(*files.recalculated));
        account.recalculation = files.recalculated->recalculation;
    }
    explain(account, files, timeline, {always_on.missing, evaluation.rejected});
    return account;
}

}  // namespace

Account account_of(RunFiles const& files) { return account_of_lines(files, Lines::all); }

}  // namespace curtail::account
