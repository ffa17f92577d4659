// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

#include <algorithm>

#include "bill/account/figures.hpp"
#include "bill/account/thin.hpp"

namespace curtail::report {

using json::Array;
using json::Object;
using json::Value;

json::Array rounded(std::vector<double> const& values, int digits)
{
    Array out;
    out.reserve(values.size());
    for (double const v : values) out.emplace_back(rounded(v, digits));
    return out;
}

json::Object& add_tally(json::Object& out, energy::Tally const& tally)
{
    return out.set("kwh", tally.energy.value / 1000)
        .set("energy_is_whole", !tally.partial)
        .set("kwh_unknown", tally.unknown.value / 1000)
        .set("kwh_outside", in_kilo(tally.dirty()))
        .set("share", tally.clean_share())
        .set("gco2", in_grams(tally.known_carbon()))
        .set("gco2_outside", in_grams(tally.known_carbon_dirty()))
        .set("co2_is_whole", tally.whole());
}

json::Value rate_json(std::optional<account::SiteRate> const& rate)
{
    if (!rate) return {};
    return Object{{"tokens_per_s", rate->tokens_per_s}, {"from", rate->lone ? "lone" : "joint"}};
}

namespace {

Array spans_json(std::vector<account::Span> const& spans)
{
    Array out;
    for (auto const& s : spans) out.emplace_back(Array{s.from_s, s.to_s});
    return out;
}

Value spread_json(std::optional<account::Spread> const& s)
{
    if (!s) return {};
    return Object{{"count", static_cast<std::int64_t>(s->count)},
                  {"min", s->least},
                  {"median", s->median},
                  {"max", s->greatest}};
}

}  // namespace

namespace {

// Until when a sample counts, in seconds after time zero.
Value counts_until(account::Account const& a, RegionSeries const& signal, std::size_t i,
                   Millis least_hold)
{
    Time until = energy::held_until(signal.points[i], least_hold);
    if (i + 1 < signal.points.size()) until = std::min(until, signal.points[i + 1].time);
    return rounded(seconds_between(a.time_zero, until), 1);
}

// A region's samples; too many are thinned.
Object signal_json(account::Account const& a, RegionSeries const& signal)
{
    auto const found = a.intensity_rules.find(signal.region.value);
    auto const rule = found == a.intensity_rules.end() ? energy::IntensityRule{} : found->second;
    std::vector<std::optional<double>> values;
    for (auto const& point : signal.points)
        values.push_back(point.intensity ? std::optional(point.intensity->value) : std::nullopt);
    auto const kept = account::thin_line(std::span<std::optional<double> const>(values));
    Array t, v, u;
    for (auto const i : kept) {
        t.emplace_back(rounded(seconds_between(a.time_zero, signal.points[i].time), 1));
        v.emplace_back(values[i] ? Value(rounded(*values[i], 2)) : Value());
        u.push_back(counts_until(a, signal, i, rule.least_hold));
    }
    Object out{{"t", std::move(t)}, {"v", std::move(v)}};
    out.set("u", std::move(u));
    out.set("left_out", static_cast<std::int64_t>(values.size() - kept.size()));
    return out;
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
    Array out;
    for (auto const& w : a.windows) {
        Object window{{"site", a.sites.at(w.site).id.value},
                      {"open_s", w.open_s},
                      {"close_s", w.close_s},
                      {"released_s", w.released_s},
                      {"closing_s", spans_json(w.closing)},
                      {"first_step_s", w.first_step_s},
                      {"last_step_s", w.last_step_s},
                      {"startup_s", w.start ? Value(w.start->seconds) : Value()},
                      {"startup_beside", w.start ? Value(w.start->others_trained) : Value()},
                      {"stop_s", w.stop ? Value(w.stop->seconds) : Value()},
                      {"stop_beside", w.stop ? Value(w.stop->others_trained) : Value()},
                      {"steps", w.steps}};
        add_tally(window, w.tally);
        out.emplace_back(std::move(window));
    }
    return out;
}

json::Value rounds_json(account::Account const& a)
{
    Array out;
    for (auto const& r : a.rounds) {
        Array sites;
        for (auto const& p : r.parts)
            sites.emplace_back(Object{{"site", a.sites.at(p.site).id.value},
                                      {"steps", p.steps},
                                      {"tokens", p.tokens.value},
                                      {"weight", p.weight},
                                      {"first_step_s", p.before},
                                      {"train_s", p.train},
                                      {"last_step_s", p.after}});
        Object round{{"number", r.number},
                     {"start_s", r.start_s},
                     {"end_s", r.end_s},
                     {"merged_s", r.merged_s},
                     {"mode", r.joint() ? "joint" : "solo"},
                     {"sites", std::move(sites)},
                     {"steps", r.steps},
                     {"last_step", r.last_step},
                     {"tokens", r.tokens.value},
                     {"duration_s", r.duration},
                     {"merge_s", r.merge},
                     {"mpi_bytes", r.by_mpi ? Value(r.by_mpi->value) : Value()},
                     {"store_bytes", r.from_store ? Value(r.from_store->value) : Value()},
                     {"delta_norm", r.delta_norm},
                     {"loss", r.loss},
                     {"note", r.note.empty() ? Value() : Value(r.note)}};
        add_tally(round, r.tally);
        out.emplace_back(std::move(round));
    }
    return out;
}

json::Value times_json(account::Account const& a)
{
    Object out;
    for (auto const& s : a.sites)
        out.set(s.id.value,
                Object{{"startup_s", spread_json(s.startup)}, {"drain_s", spread_json(s.drain)}});
    return out;
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
