// SPDX-License-Identifier: Apache-2.0
#include "reference/account.hpp"

#include <algorithm>
#include <cmath>

namespace curtail::reference {
namespace {

void add_state(account::SiteAccount& site, Logs const& logs, char const* kind, Time from, Time to)
{
    if (to > from) site.states.push_back({kind, {logs.seconds(from), logs.seconds(to)}});
}

/// Between two training segments: contribute until the round ends, merge until it is averaged,
/// adopt until the next step.
void add_exchange(account::SiteAccount& site, Logs const& logs, History const& history, Time from,
                  Time to)
{
    for (auto const& round : history.rounds) {
        if (round.end < from || round.end > to || !round.merged) continue;
        add_state(site, logs, "contribute", from, round.end);
        add_state(site, logs, "merge", round.end, *round.merged);
        add_state(site, logs, "adopt", *round.merged, to);
        return;
    }
    add_state(site, logs, "contribute", from, to);
}

void add_states(account::SiteAccount& site, Logs const& logs, History const& history,
                Window const& window)
{
    std::vector<energy::Interval> mine;
    for (auto const& segment : history.training[window.client])
        if (segment.from >= window.ready && segment.from <= window.released)
            mine.push_back(segment);
    add_state(site, logs, "provision", window.decision, window.ready);
    add_state(site, logs, energy::name(energy::State::starting), window.ready, window.first_step);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        add_state(site, logs, energy::name(energy::State::training), mine[i].from, mine[i].to);
        if (i + 1 < mine.size()) add_exchange(site, logs, history, mine[i].to, mine[i + 1].from);
    }
    add_state(site, logs,
              energy::name(window.drain ? energy::State::draining : energy::State::idle),
              window.last_step, window.released);
}

bool another_trained(History const& history, Window const& w)
{
    for (std::size_t c = 0; c < history.training.size(); ++c)
        for (auto const& segment : history.training[c])
            if (c != w.client && segment.from < w.first_step && w.decision < segment.to)
                return true;
    return false;
}

void add_window(account::Account& account, Logs const& logs, History const& history,
                Window const& w)
{
    account::WindowAccount window;
    window.site = w.client;
    window.open_s = logs.seconds(w.decision);
    if (w.drain) window.close_s = logs.seconds(*w.drain);
    window.released_s = logs.seconds(w.released);
    window.first_step_s = logs.seconds(w.first_step);
    window.last_step_s = logs.seconds(w.last_step);
    window.start =
        account::Edge{seconds_between(w.decision, w.first_step), another_trained(history, w)};
    account.decisions.push_back(
        {w.client, window.open_s, "closed", "open", "below the threshold", {}});
    for (auto const& dirty : w.turned_dirty)
        account.decisions.push_back(
            {w.client, logs.seconds(dirty), "open", "closing", "above the threshold", {}});
    if (w.drain) {
        window.closing.push_back({logs.seconds(w.turned_dirty.back()), *window.close_s});
        account.decisions.push_back(
            {w.client, *window.close_s, "closing", "closed", "closing delay over", {}});
    }
    account.windows.push_back(std::move(window));
}

account::RoundAccount round_of(Logs const& logs, Round const& r)
{
    account::RoundAccount round;
    round.number = r.number;
    round.start_s = logs.seconds(r.start);
    round.end_s = logs.seconds(r.end);
    round.duration = seconds_between(r.start, r.end);
    if (r.merged) {
        round.merged_s = logs.seconds(*r.merged);
        round.merge = seconds_between(r.end, *r.merged);
    }
    for (auto const& p : r.parts)
        round.parts.push_back({p.client, p.steps, p.steps * step_tokens,
                               static_cast<double>(p.steps) / static_cast<double>(r.steps),
                               seconds_between(r.start, p.first_step), p.training.count(),
                               seconds_between(p.last_step, r.end)});
    round.steps = r.steps;
    round.last_step = static_cast<double>(r.last_step);
    round.tokens = r.steps * step_tokens;
    round.loss = r.loss;
    return round;
}

void add_rounds(account::Account& account, Logs const& logs, History const& history)
{
    for (auto const& r : history.rounds) {
        auto round = round_of(logs, r);
        for (auto const& part : round.parts) {
            account.sites[part.site].tokens += part.tokens;
            ++(round.joint() ? account.sites[part.site].joint_rounds
                             : account.sites[part.site].lone_rounds);
            for (auto& w : account.windows)
                if (w.site == part.site && w.open_s <= round.start_s + *part.before &&
                    round.start_s + *part.before <= *w.released_s)
                    w.steps += part.steps;
        }
        account.tokens += round.tokens;
        ++(round.joint() ? account.commits.joint : account.commits.lone);
        account.rounds.push_back(std::move(round));
    }
    auto const times = round_times(logs, history);
    account.round_summary =
        account::RoundSummary{times.joint,    times.duration,        times.before_first_step,
                              times.training, times.after_last_step, times.merge};
}

void add_signals(account::Account& account, Logs const& logs)
{
    for (auto const& region : logs.trace) {
        account::SignalSeries series{region.region.value, {}, {}};
        for (auto const& p : region.readings) {
            series.t.push_back(logs.seconds(p.time));
            series.value.push_back(p.intensity ? std::optional(p.intensity->value) : std::nullopt);
        }
        account.trace_end_s = std::max(account.trace_end_s, series.t.back());
        account.signals.push_back(std::move(series));
    }
}

}  // namespace

account::Account account_of(Logs const& logs, History const& history)
{
    account::Account account;
    account.name = "reference";
    account.title = "Reference experiment, d20";
    account.status = "finished";
    account.source = "arXiv:2602.22760, published logs";
    account.model = "GPT d20, 561 M parameters";
    account.parameters = 560'988'200;
    account.time_zero = logs.zero;
    account.end_s = logs.seconds(history.end);
    account.signal_provider = "WattTime";
    for (std::size_t c = 0; c < Logs::clients.size(); ++c) {
        account::SiteAccount site;
        site.id = {Logs::clients[c]};
        site.region = {Logs::regions[c]};
        site.label = Logs::regions[c];
        site.devices = "4 × A100";
        std::vector<double> starts;
        for (auto const& w : history.windows) {
            if (w.client != c) continue;
            add_states(site, logs, history, w);
            starts.push_back(seconds_between(w.decision, w.first_step));
        }
        site.startup = account::spread_of(starts);
        site.closed_s = account.end_s - account::seconds_in(site);
        account.last_step_s =
            std::max(account.last_step_s.value_or(0), logs.seconds(logs.steps[c].back().time));
        account.sites.push_back(std::move(site));
    }
    add_signals(account, logs);
    for (auto const& w : history.windows) add_window(account, logs, history, w);
    std::stable_sort(account.decisions.begin(), account.decisions.end(),
                     [](auto const& a, auto const& b) { return a.at_s < b.at_s; });
    add_rounds(account, logs, history);
    fill_loss(logs, account);
    fill_energy(logs, history, account);
    fill_words(logs, account);
    return account;
}

}  // namespace curtail::reference
