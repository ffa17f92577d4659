// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/account.hpp"

namespace curtail::reference {
namespace {

using energy::State;
using energy::Tally;

constexpr GramsPerKwh threshold{100};

/// Sums over the part of a site's grid that `wanted` names.
class SiteGrid {
  public:
    SiteGrid(std::vector<Watts> const& power, energy::Grid const& grid,
             energy::IntensitySeries const& intensity)
        : power_(power), grid_(grid), intensity_(intensity)
    {
    }
    [[nodiscard]] Tally sum(std::function<bool(std::size_t)> const& wanted) const
    {
        auto part = power_;
        for (std::size_t i = 0; i < part.size(); ++i)
            if (!wanted(i)) part[i] = {};
        return energy::tally_on_grid(part, grid_, intensity_, threshold);
    }
    [[nodiscard]] std::vector<Tally> running(std::size_t count) const
    {
        std::vector<Tally> out;
        Tally sum;
        for (std::size_t i = 0; i < count && i < power_.size(); ++i) {
            energy::Grid const one{grid_.at(i), grid_.step, 1};
            sum +=
                energy::tally_on_grid(std::span(power_).subspan(i, 1), one, intensity_, threshold);
            out.push_back(sum);
        }
        return out;
    }

  private:
    std::vector<Watts> const& power_;
    energy::Grid const& grid_;
    energy::IntensitySeries const& intensity_;
};

/// The state of the ledger that a state of the logs belongs to: an exchange has three parts there.
State state_of(std::string const& kind)
{
    if (kind == "contribute" || kind == "merge" || kind == "adopt") return State::exchange;
    return energy::state_named(kind).value_or(State::starting);
}

/// State of each grid point with power: the power tells training, the events the rest.
std::vector<State> states_on_grid(account::SiteAccount const& site, std::vector<Watts> const& power,
                                  energy::Grid const& grid)
{
    std::vector<State> out(power.size(), State::starting);
    for (std::size_t i = 0; i < power.size(); ++i) {
        if (power[i] == energy::PowerByState{}.training) {
            out[i] = State::training;
            continue;
        }
        double const at = seconds_between(grid.origin, grid.at(i));
        for (auto const& s : site.states)
            if (s.kind != "training" && s.when.from_s <= at && at <= s.when.to_s) {
                out[i] = state_of(s.kind);
                break;
            }
    }
    return out;
}

energy::Ledger ledger_of(SiteGrid const& grid, std::vector<State> const& states, Tally const& total)
{
    energy::Ledger ledger;
    for (auto const state : energy::all_states) {
        auto const tally = grid.sum([&](std::size_t i) { return states[i] == state; });
        if (tally.energy.value > 0) ledger.by_state[state] = tally;
    }
    ledger.total = total;
    ledger.energy = {energy::Kind::modelled, "power model, no meter"};
    ledger.carbon = {energy::Kind::modelled, "power model x WattTime marginal signal"};
    return ledger;
}

/// Two always-on sites: training power in training segments, idle power between them, in each pair
/// of regions.
account::Scenario two_sites(Logs const& logs, energy::Grid const& grid)
{
    std::vector<Time> times;
    for (auto const& s : logs.two_sites) times.push_back(s.time);
    auto const training = energy::segments(times, Millis{60'000});
    std::vector<energy::Interval> const whole{{times.front(), times.back()}};
    auto const power = energy::power_on_grid(whole, training, {}, grid);
    std::vector<Tally> pairs;
    auto const& regions = Logs::regions;
    for (std::size_t a = 0; a < regions.size(); ++a)
        for (std::size_t b = a + 1; b < regions.size(); ++b) {
            Tally pair;
            for (auto const r : {a, b})
                pair +=
                    energy::tally_on_grid(power, grid,
                                          energy::IntensitySeries{logs.find({regions[r]})->readings,
                                                                  energy::PastEnds::hold},
                                          threshold);
            pairs.push_back(pair);
        }
    std::sort(pairs.begin(), pairs.end(),
              [](Tally const& x, Tally const& y) { return x.carbon < y.carbon; });
    auto const steps = logs.two_sites.back().step + 1;
    return {"two", "Always on, two regions",   "",
            2,     logs.seconds(times.back()), seconds_per_step(logs.two_sites),
            pairs, steps * step_tokens,        {},
            {}};
}

account::FinalLoss const* final_of(account::Account const& account, std::string const& id)
{
    for (auto const& f : account.loss->finals)
        if (f.id == id) return &f;
    return nullptr;
}

void add_scenarios(Logs const& logs, Energy const& energy, account::Account& account)
{
    auto const* one = final_of(account, "one");
    auto const* two = final_of(account, "two");
    auto const steps = logs.one_site.back().step + 1;
    for (auto const& region : logs.trace) {
        account::Scenario s{"one:" + region.region.value,
                            "Always on, " + region.region.value,
                            region.region.value,
                            1,
                            one->wall_s,
                            seconds_per_step(logs.one_site),
                            {energy.always_on.at(region.region.value)},
                            steps * step_tokens,
                            one->best_perplexity,
                            *one};
        account.always_on.push_back(std::move(s));
        energy::IntensitySeries const series{region.readings, energy::PastEnds::hold};
        auto const running =
            SiteGrid(energy.one_site, energy.grid, series).running(energy.one_site.size());
        auto& thinned = account.always_on_cumulative[region.region.value].tallies;
        for (std::size_t i = 0; i < running.size(); i += 5) thinned.push_back(running[i]);
    }
    account.always_on_step_s = 300;
    auto pair = two_sites(logs, energy.grid);
    pair.perplexity = two->best_perplexity;
    pair.tail = *two;
    account.baselines.push_back(
        {"one", "one site", account.always_on[0].range[0].energy.value / 1000, *one});
    account.baselines.push_back({"two", "two sites", pair.range[0].energy.value / 1000, *two});
    account.other_scenarios.push_back(std::move(pair));
}

}  // namespace

void fill_energy(Logs const& logs, History const& history, account::Account& account)
{
    auto const energy = energy_of(logs, history);
    auto const points = static_cast<std::size_t>(account.end_s / 60) + 2;
    account.cumulative_step_s = 60;
    for (std::size_t c = 0; c < account.sites.size(); ++c) {
        auto& site = account.sites[c];
        energy::IntensitySeries const intensity{logs.find(site.region)->readings,
                                                energy::PastEnds::hold};
        SiteGrid const grid(energy.power[c], energy.grid, intensity);
        site.ledger =
            ledger_of(grid, states_on_grid(site, energy.power[c], energy.grid), energy.clients[c]);
        site.cumulative = grid.running(points);
        auto const between = [&](double from, double to) {
            return grid.sum([&, from, to](std::size_t i) {
                return from <= 60 * static_cast<double>(i) && 60 * static_cast<double>(i) <= to;
            });
        };
        for (auto& w : account.windows) {
            if (w.site != c) continue;
            w.tally = between(w.open_s, *w.released_s);
            site.ledger.inside_windows +=
                between(w.open_s, w.close_s.value_or(account.end_s)).energy;
        }
        for (std::size_t r = 0; r < account.rounds.size(); ++r) {
            double const next = r + 1 < account.rounds.size() ? account.rounds[r + 1].start_s - 1e-6
                                                              : account.end_s;
            account.rounds[r].tally += between(account.rounds[r].start_s, next);
        }
    }
    account.step = account.last_step_s.value_or(0) /
                   (static_cast<double>(account.tokens) / static_cast<double>(step_tokens));
    add_scenarios(logs, energy, account);
}

}  // namespace curtail::reference
