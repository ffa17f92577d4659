// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

#include "bill/account/figures.hpp"

namespace curtail::report {

using json::Array;
using json::Object;
using json::Value;

namespace {

// A figure, such as `kwh`, of each state.
Object states_of(Object const& tallies, char const* figure)
{
    Object out;
    for (auto const& [state, tally] : tallies.members())
        out.set(state, *tally.as_object()->find(figure));
    return out;
}

// Running totals; `g` is null if the last one is unknown.
Object series_json(std::vector<energy::Tally> const& tallies)
{
    Array wh, g;
    for (auto const& t : tallies) {
        wh.emplace_back(rounded(t.energy.value, 1));
        g.emplace_back(rounded(t.carbon.value, 2));
    }
    bool const known = tallies.empty() || tallies.back().known();
    return Object{{"wh", std::move(wh)}, {"g", known ? Value(std::move(g)) : Value()}};
}

Object always_on_series(account::Account const& a)
{
    Object start, wh, g;
    for (auto const& [region, totals] : a.always_on_cumulative) {
        auto const series = series_json(totals.tallies);
        start.set(region, rounded(totals.from_s, 1));
        wh.set(region, *series.find("wh"));
        g.set(region, *series.find("g"));
    }
    return {{"step_s", a.always_on_step_s},
            {"start_s", std::move(start)},
            {"wh", std::move(wh)},
            {"g", std::move(g)}};
}

// Energy, carbon and work of one site or of all sites.
struct Whole {
    energy::Bill bill;
    Tokens tokens;
    std::int64_t joint_rounds{};
    std::int64_t lone_rounds{};
    double allocated_s{};
    double held_s{};
    std::optional<double> goodput;
};

Object whole_json(Whole const& whole, account::Account const& a)
{
    auto const& tally = whole.bill.total;
    Object ratios;
    for (auto const& s : a.always_on) ratios.set(s.region, account::carbon_ratio(tally, a, s));
    return {{"kwh", in_kilo(tally.drawn())},
            {"energy_is_whole", tally.bound == energy::Bound::exact},
            {"energy_bound", energy::name(tally.bound)},
            {"unknown_kwh", tally.unknown.value / 1000},
            {"g", in_grams(tally.known_carbon())},
            {"g_outside", in_grams(tally.known_carbon_dirty())},
            {"avoided_g", tally.avoided.value},
            {"co2_is_whole", tally.whole()},
            {"co2_bound", energy::name(tally.carbon_bound())},
            {"share", tally.clean_share()},
            {"share_inside_windows", whole.bill.inside_share()},
            {"ratio", std::move(ratios)},
            {"tokens", whole.tokens.value},
            {"joint_rounds", whole.joint_rounds},
            {"lone_rounds", whole.lone_rounds},
            {"allocated_s", whole.allocated_s},
            {"held_devices_s", whole.held_s},
            {"goodput", whole.goodput}};
}

}  // namespace

json::Value totals_json(account::Account const& a)
{
    Object sites;
    double held_s = 0;
    for (auto const& s : a.sites) {
        held_s += account::held_s(s);
        sites.set(s.id.value,
                  whole_json({s.bill, s.tokens, s.joint_rounds, s.lone_rounds,
                              account::seconds_in(s), account::held_s(s), account::goodput(s)},
                             a));
    }
    return Object{{"all", whole_json({total_bill(a), a.trained(), a.commits.joint, a.commits.lone,
                                      account::allocated_s(a), held_s, account::goodput(a)},
                                     a)},
                  {"sites", std::move(sites)}};
}

json::Value commits_json(account::Account const& a)
{
    auto const& c = a.commits;
    return Object{{"all", c.all()},
                  {"genesis", c.genesis},
                  {"roster", c.roster},
                  {"joint", c.joint},
                  {"lone", c.lone}};
}

json::Value energy_json(account::Account const& a)
{
    Object states, kwh, g, clean, window, unknown, outside, total_kwh, total_g, cumulative;
    for (auto const& s : a.sites) {
        auto const& id = s.id.value;
        auto const& total = s.bill.total;
        Object tallies;
        for (auto const& [state, tally] : s.bill.by_state) {
            Object part;
            tallies.set(energy::name(state), add_tally(part, tally));
        }
        kwh.set(id, states_of(tallies, "kwh"));
        g.set(id, states_of(tallies, "gco2"));
        states.set(id, tallies);
        clean.set(id, total.known() ? Value(total.clean.value / 1000) : Value());
        window.set(id, s.bill.inside_windows.value / 1000);
        unknown.set(id, total.unknown.value / 1000);
        outside.set(id, in_grams(total.known_carbon_dirty()));
        total_kwh.set(id, in_kilo(total.drawn()));
        total_g.set(id, in_grams(total.known_carbon()));
        cumulative.set(id, series_json(s.cumulative));
    }
    Object series{{"step_s", a.cumulative_step_s}, {"sites", std::move(cumulative)}};
    if (!a.always_on_cumulative.empty()) series.set("always_on", always_on_series(a));
    return Object{{"states", std::move(states)},
                  {"kwh", std::move(kwh)},
                  {"g", std::move(g)},
                  {"inside_kwh", std::move(clean)},
                  {"window_kwh", std::move(window)},
                  {"unknown_kwh", std::move(unknown)},
                  {"outside_g", std::move(outside)},
                  {"total_kwh", std::move(total_kwh)},
                  {"total_g", std::move(total_g)},
                  {"cumulative", std::move(series)}};
}

}  // namespace curtail::report
