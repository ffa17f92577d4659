// SPDX-License-Identifier: Apache-2.0
#include "reference/account.hpp"

#include <algorithm>

#include "account/figures.hpp"
#include "reference/parts.hpp"

namespace curtail::reference {
namespace {

using account::StateSpan;

// The states of one client, in order.
class StateBuilder {
  public:
    StateBuilder(Logs const& logs, History const& history) : logs_(logs), history_(history) {}

    void add(Window const& window)
    {
        std::vector<energy::Interval> mine;
        for (auto const& segment : history_.training[window.client])
            if (segment.from >= window.ready && segment.from <= window.released)
                mine.push_back(segment);
        add("provision", window.decision, window.ready);
        add(energy::name(energy::State::starting), window.ready, window.first_step);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            add(energy::name(energy::State::training), mine[i].from, mine[i].to);
            if (i + 1 < mine.size()) add_exchange(mine[i].to, mine[i + 1].from);
        }
        add(energy::name(window.drain ? energy::State::draining : energy::State::idle),
            window.last_step, window.released);
    }
    [[nodiscard]] std::vector<StateSpan> take() { return std::move(states_); }

  private:
    void add(char const* state, Time from, Time to)
    {
        if (to > from) states_.push_back({state, {logs_.seconds(from), logs_.seconds(to)}});
    }

    // Between two training segments: contribute until the round ends, merge until the average is
    // computed, adopt until the next step.
    void add_exchange(Time from, Time to)
    {
        for (auto const& round : history_.rounds) {
            if (round.end < from || round.end > to || !round.merged) continue;
            add("contribute", from, round.end);
            add("merge", round.end, *round.merged);
            add("adopt", *round.merged, to);
            return;
        }
        add("contribute", from, to);
    }

    Logs const& logs_;
    History const& history_;
    std::vector<StateSpan> states_;
};

bool others_trained(History const& history, std::size_t client, energy::Interval when)
{
    for (std::size_t c = 0; c < history.training.size(); ++c)
        if (c != client && energy::overlap_any(history.training[c], when)) return true;
    return false;
}

// The states of each client.
States states_of(Logs const& logs, History const& history)
{
    States out;
    for (std::size_t c = 0; c < out.size(); ++c) {
        StateBuilder builder(logs, history);
        for (auto const& w : history.windows)
            if (w.client == c) builder.add(w);
        out[c] = builder.take();
    }
    return out;
}

account::WindowAccount window_of(Logs const& logs, History const& history, Window const& w)
{
    account::WindowAccount window;
    window.site = w.client;
    window.open_s = logs.seconds(w.decision);
    if (w.drain) {
        window.close_s = logs.seconds(*w.drain);
        window.closing.push_back({logs.seconds(w.turned_dirty.back()), *window.close_s});
    }
    window.released_s = logs.seconds(w.released);
    window.first_step_s = logs.seconds(w.first_step);
    window.last_step_s = logs.seconds(w.last_step);
    window.start = account::Latency{seconds_between(w.decision, w.first_step),
                                    others_trained(history, w.client, {w.decision, w.first_step})};
    return window;
}

std::vector<account::PhaseChange> decisions_of(Logs const& logs, History const& history)
{
    std::vector<account::PhaseChange> out;
    for (auto const& w : history.windows) {
        out.push_back(
            {w.client, logs.seconds(w.decision), "closed", "open", "below the threshold", {}});
        for (auto const& dirty : w.turned_dirty)
            out.push_back(
                {w.client, logs.seconds(dirty), "open", "closing", "above the threshold", {}});
        if (w.drain)
            out.push_back(
                {w.client, logs.seconds(*w.drain), "closing", "closed", "close delay over", {}});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](auto const& a, auto const& b) { return a.at_s < b.at_s; });
    return out;
}

// Steps of a window: those of all rounds that its site began inside it.
std::int64_t steps_in(account::WindowAccount const& window,
                      std::vector<account::RoundAccount> const& rounds)
{
    std::int64_t steps = 0;
    for (auto const& round : rounds)
        for (auto const& part : round.parts) {
            double const first = round.start_s + *part.before;
            if (part.site == window.site && window.open_s <= first && first <= *window.released_s)
                steps += part.steps;
        }
    return steps;
}

// The windows, without their tallies.
std::vector<account::WindowAccount> windows_of(Logs const& logs, History const& history,
                                               std::vector<account::RoundAccount> const& rounds)
{
    std::vector<account::WindowAccount> out;
    for (auto const& w : history.windows) {
        auto& window = out.emplace_back(window_of(logs, history, w));
        window.steps = steps_in(window, rounds);
    }
    return out;
}

std::optional<account::Spread> startup_of(History const& history, std::size_t client)
{
    std::vector<double> starts;
    for (auto const& w : history.windows)
        if (w.client == client) starts.push_back(seconds_between(w.decision, w.first_step));
    return account::spread_of(std::move(starts));
}

std::vector<account::SiteAccount> sites_of(Logs const& logs, History const& history,
                                           States const& states)
{
    std::vector<account::SiteAccount> out;
    for (std::size_t c = 0; c < Logs::clients.size(); ++c) {
        auto& site = out.emplace_back();
        site.id = {Logs::clients[c]};
        site.region = {Logs::regions[c]};
        site.label = Logs::regions[c];
        site.devices = "4 × A100";
        site.power_source = "the technical report's node of 4 × A100";
        site.states = states[c];
        site.startup = startup_of(history, c);
        site.closed_s = logs.seconds(history.end) - account::seconds_in(site);
    }
    return out;
}

double last_step_of(Logs const& logs)
{
    double last = 0;
    for (auto const& steps : logs.steps) last = std::max(last, logs.seconds(steps.back().time));
    return last;
}

// Name, model, clock and signal.
account::Account heading_of(Logs const& logs, History const& history)
{
    account::Account account;
    account.name = "reference";
    account.title = "Reference experiment, d20";
    account.status = "finished";
    account.source = "arXiv:2602.22760, published logs";
    account.model = "GPT d20, 561 M parameters";
    account.parameters = 560'988'200;
    account.planned_tokens = planned_steps * step_tokens;
    account.time_zero = logs.zero;
    account.end_s = logs.seconds(history.end);
    account.last_step_s = last_step_of(logs);
    account.signal_provider = "WattTime";
    account.signals = logs.trace;
    account.accounting_rule = energy::AccountingRule::linear;
    for (auto const& series : logs.trace)
        account.intensity_rules[series.region.value] = intensity_rule();
    for (auto const& series : logs.trace)
        account.trace_end_s =
            std::max(account.trace_end_s, logs.seconds(series.points.back().time));
    for (auto const& e : logs.events)
        account.events.push_back({logs.seconds(e.time), e.type, e.round, e.client, e.details});
    return account;
}

}  // namespace

account::Account account_of(Logs const& logs, History const& history)
{
    auto const energy = energy_of(logs, history);
    auto const states = states_of(logs, history);
    auto work = work_of(logs, history);
    auto windows = windows_of(logs, history, work.rounds);
    auto drawn = drawn_energy(states, windows, work.rounds, logs, history, energy);

    auto account = heading_of(logs, history);
    account.sites = sites_of(logs, history, states);
    account.decisions = decisions_of(logs, history);
    account::add_work_and_energy(account, std::move(windows), std::move(work), std::move(drawn));
    account.step = *account.last_step_s / ratio(account.tokens, step_tokens);
    account.loss = loss_of(logs, *account.last_step_s, account.tokens);
    auto scenarios = scenarios_of(logs, energy, *account.loss);
    account.always_on = std::move(scenarios.always_on);
    account.always_on_cumulative = std::move(scenarios.cumulative);
    account.always_on_step_s = 300;
    account.other_scenarios = std::move(scenarios.others);
    account.baselines = std::move(scenarios.baselines);
    account.provenance = provenance();
    account.missing = missing();
    account.facts = facts_of(logs, account.source);
    account.notes = notes();
    return account;
}

}  // namespace curtail::reference
