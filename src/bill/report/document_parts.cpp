// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

#include <algorithm>

#include "bill/account/figures.hpp"
#include "bill/account/thin.hpp"

namespace curtail::report {

using json::Array;
using json::Object;
using json::Value;

json::Object& add_tally(json::Object& out, energy::Tally const& tally)
{
    return out.set("kwh", in_kilo(tally.drawn()))
        .set("energy_is_whole", tally.bound == energy::Bound::exact)
        .set("energy_bound", energy::name(tally.bound))
        .set("kwh_unknown", tally.unknown.value / 1000)
        .set("kwh_outside", in_kilo(tally.dirty()))
        .set("share", tally.clean_share())
        .set("gco2", in_grams(tally.known_carbon()))
        .set("gco2_outside", in_grams(tally.known_carbon_dirty()))
        .set("avoided_g", tally.avoided.value)
        .set("co2_is_whole", tally.whole())
        .set("co2_bound", energy::name(tally.carbon_bound()));
}

json::Value rate_json(std::optional<account::SiteRate> const& rate)
{
    if (!rate) return {};
    return Object{{"tokens_per_s", rate->tokens_per_s}, {"from", rate->lone ? "lone" : "joint"}};
}

namespace {

Value spread_json(std::optional<account::Spread> const& s)
{
    if (!s) return {};
    return Object{
        {"count", s->count}, {"min", s->least}, {"median", s->median}, {"max", s->greatest}};
}

// A region's samples; too many are thinned. `t` and `u` are the times from which and until which
// each one counts.
Object signal_json(account::Account const& a, RegionSeries const& signal)
{
    auto const found = a.intensity_rules.find(signal.region.value);
    auto const rule = found == a.intensity_rules.end() ? energy::IntensityRule{} : found->second;
    auto const& points = signal.points;
    auto const seconds = [&](Time time) { return rounded(seconds_between(a.time_zero, time), 1); };
    std::vector<std::optional<double>> values;
    values.reserve(points.size());
    for (auto const& point : points)
        values.push_back(point.intensity ? std::optional(point.intensity->value) : std::nullopt);
    auto const kept = account::thin_line(values);
    Array t, v, u;
    for (auto const i : kept) {
        Time until = energy::held_until(points[i], rule.least_hold);
        if (i + 1 < points.size()) until = std::min(until, points[i + 1].time);
        t.emplace_back(seconds(points[i].time));
        v.emplace_back(values[i] ? std::optional(rounded(*values[i], 2)) : std::nullopt);
        u.emplace_back(seconds(until));
    }
    return {{"t", std::move(t)},
            {"v", std::move(v)},
            {"u", std::move(u)},
            {"left_out", values.size() - kept.size()}};
}

}  // namespace

json::Value signals_json(account::Account const& a)
{
    Object series;
    for (auto const& signal : a.signals) series.set(signal.region.value, signal_json(a, signal));
    return Object{{"unit", "gCO2/kWh"},
                  {"provider", a.signal_provider},
                  {"kind", a.signal_kind},
                  {"rule", energy::accounting_rule},
                  {"series", std::move(series)}};
}

json::Value windows_json(account::Account const& a)
{
    auto const span = [](account::Span const& s) { return Array{s.from_s, s.to_s}; };
    return json::array_of(a.windows, [&](account::WindowAccount const& w) {
        Object window{{"site", a.sites.at(w.site).id.value},
                      {"open_s", w.open_s},
                      {"close_s", w.close_s},
                      {"released_s", w.released_s},
                      {"closing_s", json::array_of(w.closing, span)},
                      {"first_step_s", w.first_step_s},
                      {"last_step_s", w.last_step_s},
                      {"startup_s", w.start ? Value(w.start->seconds) : Value()},
                      {"startup_beside", w.start ? Value(w.start->others_trained) : Value()},
                      {"stop_s", w.stop ? Value(w.stop->seconds) : Value()},
                      {"stop_beside", w.stop ? Value(w.stop->others_trained) : Value()},
                      {"steps", w.steps}};
        return add_tally(window, w.tally);
    });
}

json::Value rounds_json(account::Account const& a)
{
    auto const site = [&](account::RoundPart const& p) {
        return Object{{"site", a.sites.at(p.site).id.value},
                      {"steps", p.steps},
                      {"tokens", p.tokens.value},
                      {"weight", p.weight},
                      {"first_step_s", p.before},
                      {"train_s", p.train},
                      {"last_step_s", p.after}};
    };
    return json::array_of(a.rounds, [&](account::RoundAccount const& r) {
        Object round{{"number", r.number},
                     {"start_s", r.start_s},
                     {"end_s", r.end_s},
                     {"merged_s", r.merged_s},
                     {"mode", r.joint() ? "joint" : "solo"},
                     {"sites", json::array_of(r.parts, site)},
                     {"steps", r.steps},
                     {"last_step", r.last_step},
                     {"tokens", r.tokens.value},
                     {"duration_s", r.duration},
                     {"merge_s", r.merge},
                     {"mpi_bytes", r.by_mpi ? Value(r.by_mpi->value) : Value()},
                     {"store_bytes", r.from_store ? Value(r.from_store->value) : Value()},
                     {"delta_norm", r.delta_norm},
                     {"loss", r.loss},
                     {"note", json::text_or_null(r.note)}};
        return add_tally(round, r.tally);
    });
}

json::Value times_json(account::Account const& a)
{
    return by_site(a, [](account::SiteAccount const& s) {
        return Object{{"startup_s", spread_json(s.startup)}, {"drain_s", spread_json(s.drain)}};
    });
}

json::Value latencies_json(account::Account const& a)
{
    auto const of = [&](std::optional<account::Latency> account::WindowAccount::*latency) {
        return Object{{"alone", spread_json(account::spread_of(a.windows, latency, false))},
                      {"beside", spread_json(account::spread_of(a.windows, latency, true))}};
    };
    return Object{{"start_s", of(&account::WindowAccount::start)},
                  {"stop_s", of(&account::WindowAccount::stop)}};
}

}  // namespace curtail::report
