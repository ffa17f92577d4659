// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "reference/parts.hpp"

namespace curtail::reference {
namespace {

using energy::State;
using energy::Tally;

// A site's power on the grid, and sums over parts of it.
class SiteGrid {
  public:
    SiteGrid(std::vector<Watts> const& power, energy::Grid const& grid,
             energy::IntensitySeries const& intensity)
        : power_(power), grid_(grid), intensity_(intensity)
    {
    }

    // Sum over the grid points for which `included` is true.
    [[nodiscard]] Tally sum(std::function<bool(std::size_t)> const& included) const
    {
        auto part = power_;
        for (std::size_t i = 0; i < part.size(); ++i)
            if (!included(i)) part[i] = {};
        return energy::tally_on_grid(part, grid_, intensity_, threshold);
    }

    // Sum over the grid points in [from_s, to_s].
    [[nodiscard]] Tally between(double from_s, double to_s) const
    {
        return sum([&](std::size_t i) {
            double const at = 60 * static_cast<double>(i);
            return from_s <= at && at <= to_s;
        });
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

// The logs split an exchange into three parts; the bill has one state for it.
State state_of(std::string const& name)
{
    if (name == "contribute" || name == "merge" || name == "adopt") return State::exchange;
    return energy::state_named(name).value_or(State::starting);
}

// The state at each grid point: the training segments decide training, the events the rest.
std::vector<State> states_on_grid(std::vector<account::StateSpan> const& states,
                                  std::vector<bool> const& training, energy::Grid const& grid)
{
    std::vector<State> out(grid.points, State::starting);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (training[i]) {
            out[i] = State::training;
            continue;
        }
        double const at = seconds_between(grid.origin, grid.at(i));
        for (auto const& s : states)
            if (s.state != "training" && s.when.from_s <= at && at <= s.when.to_s) {
                out[i] = state_of(s.state);
                break;
            }
    }
    return out;
}

energy::Bill bill_of(SiteGrid const& grid, std::vector<State> const& states, Tally const& total)
{
    energy::Bill bill;
    for (auto const state : energy::all_states) {
        auto const tally = grid.sum([&](std::size_t i) { return states[i] == state; });
        if (tally.energy.value > 0) bill.by_state[state] = tally;
    }
    bill.total = total;
    bill.energy = {energy::Origin::modelled, "power model, no meter"};
    bill.carbon = {energy::Origin::modelled, "power model x WattTime marginal signal"};
    return bill;
}

// Power of an always-on site of the two-site baseline: training power in training segments, idle
// power between them.
std::vector<Watts> two_site_power(std::vector<LoggedStep> const& steps, energy::Grid const& grid)
{
    std::vector<Time> times;
    times.reserve(steps.size());
    for (auto const& s : steps) times.push_back(s.time);
    auto const training = energy::segments(times, Millis{60'000});
    std::vector<energy::Interval> const whole{{times.front(), times.back()}};
    return energy::power_on_grid(whole, training, {}, grid);
}

// Energy and carbon of two always-on sites, in each pair of regions, lowest carbon first.
std::vector<Tally> pairs_of(Logs const& logs, energy::Grid const& grid)
{
    auto const power = two_site_power(logs.two_sites, grid);
    std::vector<Tally> sites;
    sites.reserve(Logs::regions.size());
    for (char const* region : Logs::regions)
        sites.push_back(
            energy::tally_on_grid(power, grid, intensity_of(*logs.find({region})), threshold));
    std::vector<Tally> pairs;
    for (std::size_t a = 0; a < sites.size(); ++a)
        for (std::size_t b = a + 1; b < sites.size(); ++b) {
            auto& pair = pairs.emplace_back(sites[a]);
            pair += sites[b];
        }
    std::sort(pairs.begin(), pairs.end(),
              [](Tally const& x, Tally const& y) { return x.carbon < y.carbon; });
    return pairs;
}

account::Scenario two_sites(Logs const& logs, energy::Grid const& grid,
                            account::FinalLoss const& final)
{
    account::Scenario out;
    out.id = "two";
    out.label = "Always on, two regions";
    out.sites = 2;
    out.wall_s = logs.seconds(logs.two_sites.back().time);
    out.step = seconds_per_step(logs.two_sites);
    out.range = pairs_of(logs, grid);
    out.tokens = (logs.two_sites.back().step + 1) * step_tokens;
    out.perplexity = final.best_perplexity;
    out.tail = final;
    return out;
}

account::Scenario one_site(Logs const& logs, std::string const& region, Tally const& tally,
                           account::FinalLoss const& final)
{
    account::Scenario out;
    out.id = "one:" + region;
    out.label = "Always on, " + region;
    out.region = region;
    out.wall_s = final.wall_s;
    out.step = seconds_per_step(logs.one_site);
    out.range = {tally};
    out.tokens = (logs.one_site.back().step + 1) * step_tokens;
    out.perplexity = final.best_perplexity;
    out.tail = final;
    return out;
}

// Running totals of the one-site baseline in a region, every 5 min.
std::vector<Tally> running_totals(RegionSeries const& series, Energy const& energy)
{
    auto const intensity = intensity_of(series);
    auto const all =
        SiteGrid(energy.one_site, energy.grid, intensity).running(energy.one_site.size());
    std::vector<Tally> out;
    for (std::size_t i = 0; i < all.size(); i += 5) out.push_back(all[i]);
    return out;
}

// The energy and carbon of one client.
struct SiteEnergy {
    account::SiteEnergy site;
    std::vector<Tally> windows;  // one per window of the run; 0 for windows of other clients
    std::vector<Tally> rounds;   // one per round of the run
};

SiteEnergy site_energy(std::size_t site, std::vector<account::StateSpan> const& states,
                       std::vector<account::WindowAccount> const& windows,
                       std::vector<account::RoundAccount> const& rounds, Logs const& logs,
                       History const& history, Energy const& energy)
{
    double const end_s = logs.seconds(history.end);
    auto const intensity = intensity_of(*logs.find({Logs::regions[site]}));
    SiteGrid const grid(energy.power[site], energy.grid, intensity);
    auto const training = energy::inside_on_grid(history.training[site], energy.grid);
    SiteEnergy out;
    out.site.bill =
        bill_of(grid, states_on_grid(states, training, energy.grid), energy.clients[site]);
    out.site.cumulative = grid.running(static_cast<std::size_t>(end_s / 60) + 2);
    out.windows.resize(windows.size());
    for (std::size_t w = 0; w < windows.size(); ++w) {
        if (windows[w].site != site) continue;
        out.windows[w] = grid.between(windows[w].open_s, *windows[w].released_s);
        out.site.bill.inside_windows +=
            grid.between(windows[w].open_s, windows[w].close_s.value_or(end_s)).energy;
    }
    for (std::size_t r = 0; r < rounds.size(); ++r) {
        double const next = r + 1 < rounds.size() ? rounds[r + 1].start_s - 1e-6 : end_s;
        out.rounds.push_back(grid.between(rounds[r].start_s, next));
    }
    return out;
}

}  // namespace

account::Energy drawn_energy(States const& states,
                             std::vector<account::WindowAccount> const& windows,
                             std::vector<account::RoundAccount> const& rounds, Logs const& logs,
                             History const& history, Energy const& energy)
{
    account::Energy out;
    out.windows.resize(windows.size());
    out.rounds.resize(rounds.size());
    for (std::size_t c = 0; c < states.size(); ++c) {
        auto drawn = site_energy(c, states[c], windows, rounds, logs, history, energy);
        out.sites.push_back(std::move(drawn.site));
        for (std::size_t w = 0; w < windows.size(); ++w) out.windows[w] += drawn.windows[w];
        for (std::size_t r = 0; r < rounds.size(); ++r) out.rounds[r] += drawn.rounds[r];
    }
    return out;
}

Scenarios scenarios_of(Logs const& logs, Energy const& energy, account::LossAccount const& loss)
{
    auto const& one = *loss.final_of("one");
    auto const& two = *loss.final_of("two");
    Scenarios out;
    for (auto const& series : logs.trace) {
        auto const& region = series.region.value;
        out.always_on.push_back(one_site(logs, region, energy.always_on.at(region), one));
        out.cumulative[region].tallies = running_totals(series, energy);
    }
    out.others.push_back(two_sites(logs, energy.grid, two));
    auto const kwh = [](account::Scenario const& s) { return s.range[0].energy.value / 1000; };
    out.baselines = {{"one", "one site", kwh(out.always_on[0]), one},
                     {"two", "two sites", kwh(out.others[0]), two}};
    return out;
}

}  // namespace curtail::reference
