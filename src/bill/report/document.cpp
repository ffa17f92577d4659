// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document.hpp"

#include <algorithm>

#include "base/core/build_info.hpp"
#include "bill/account/audit.hpp"
#include "bill/account/figures.hpp"
#include "bill/report/document_parts.hpp"

namespace curtail::report {
namespace {

using json::Array;
using json::Object;
using json::Value;

Object run_json(account::Account const& a)
{
    Object run{{"name", a.name}, {"title", a.title}, {"status", a.status}};
    run.set("model", a.model);
    run.set("parameters", a.parameters);
    run.set("time_zero", format_time(a.time_zero));
    run.set("clock_factor", a.clock_factor);
    run.set("end_s", a.end_s);
    run.set("last_step_s", a.last_step_s);
    run.set("trace_end_s", a.trace_end_s);
    return run;
}

// `Settings` has the power: those that were in force last, or at another time.
template <class Settings>
Value kw_of(Settings const& settings, Watts energy::Power::*level)
{
    return settings.power ? Value((*settings.power.*level).value / 1000) : Value();
}

// A list of values and the times from which they apply; null if the power is unknown.
template <class Settings>
Value pues_json(Settings const& site)
{
    if (!site.power) return {};
    if (site.later_pues.empty()) return site.power->pue;
    Array pues{Object{{"from", Value()}, {"value", site.power->pue}}};
    for (auto const& change : site.later_pues)
        pues.emplace_back(Object{{"from", format_time(change.from)}, {"value", change.pue}});
    return pues;
}

// The settings over time.
Array settings_json(account::SiteAccount const& site)
{
    return json::array_of(site.settings, [&](account::SettingsThen const& then) {
        bool const is_first = &then == &site.settings.front();
        return Object{{"from", is_first ? Value() : Value(format_time(then.from))},
                      {"from_s", is_first ? Value() : Value(then.from_s)},
                      {"region", then.region.value},
                      {"open_below", then.open_below.value},
                      {"power", Object{{"idle_kw", kw_of(then, &energy::Power::idle)},
                                       {"training_kw", kw_of(then, &energy::Power::training)},
                                       {"pue", pues_json(then)},
                                       {"between_jobs", energy::name(then.between_jobs)}}}};
    });
}

Array sites_json(account::Account const& a)
{
    std::int64_t color = 0;
    return json::array_of(a.sites, [&](account::SiteAccount const& s) {
        Object site{{"id", s.id.value},
                    {"region", s.region.value},
                    {"label", s.label},
                    {"devices", s.devices},
                    {"color", color++ % 8},
                    {"rate", rate_json(s.rate)},
                    {"power", Object{{"source", json::text_or_null(s.power_source)},
                                     {"idle_kw", kw_of(s, &energy::Power::idle)},
                                     {"training_kw", kw_of(s, &energy::Power::training)},
                                     {"pue", pues_json(s)},
                                     {"between_jobs", energy::name(s.between_jobs)},
                                     {"embodied_gco2_per_hour", s.embodied_gco2_per_hour}}},
                    {"open_below", s.open_below.value},
                    {"close_above", s.close_above.value},
                    {"close_delay_s", s.close_delay_s}};
        if (s.settings.size() > 1) site.set("settings", settings_json(s));
        return site;
    });
}

Array decisions_json(account::Account const& a)
{
    return json::array_of(a.decisions, [&](account::PhaseChange const& d) {
        return Object{{"t", d.at_s},        {"site", a.sites.at(d.site).id.value},
                      {"from", d.from},     {"to", d.to},
                      {"reason", d.reason}, {"intensity", d.intensity}};
    });
}

// Hours per state, with `closed`.
Object hours_json(account::SiteAccount const& site)
{
    Object hours;
    for (char const* state : {"provision", "starting", "training", "exchange", "draining", "idle",
                              "suspended", "frozen", "stalled", "requeued"})
        if (double const s = account::seconds_in(site, state); s > 0) hours.set(state, s / 3600);
    hours.set("closed", site.closed_s / 3600);
    return hours;
}

Array provenance_json(account::Account const& a)
{
    return json::array_of(a.provenance, [](account::ProvenanceNote const& p) {
        return Object{{"key", p.key},
                      {"title", p.title},
                      {"kind", energy::name(p.provenance.origin)},
                      {"source", p.provenance.source},
                      {"text", p.text}};
    });
}

Array facts_json(account::Account const& a)
{
    auto const row = [](auto const& fact) { return Array{fact.first, fact.second}; };
    return json::array_of(a.facts, [&](account::FactGroup const& group) {
        return Object{{"title", group.title},
                      {"wide", group.wide},
                      {"rows", json::array_of(group.rows, row)}};
    });
}

constexpr std::ptrdiff_t first_events = 1000;
constexpr std::ptrdiff_t last_events = 4000;

Array texts_json(std::vector<std::string> const& texts) { return {texts.begin(), texts.end()}; }

Object round_summary_json(account::RoundSummary const& summary)
{
    return {{"joint", static_cast<std::int64_t>(summary.joint)},
            {"duration_s", summary.duration},
            {"before_s", summary.before},
            {"train_s", summary.train},
            {"after_s", summary.after},
            {"merge_s", summary.merge}};
}

Value average_json(account::Account const& a)
{
    if (!a.average) return {};
    auto const mean = a.average->mean_intensity();
    return Object{{"g_per_kwh", mean ? Value(mean->value) : Value()},
                  {"g", in_grams(a.average->known_carbon())},
                  {"is_whole", a.average->whole()}};
}

Value sci_json(account::Account const& a)
{
    auto const sci = account::sci_of(a);
    if (!sci) return {};
    return Object{{"g_per_million_tokens", sci->g_per_million_tokens},
                  {"operational_g", sci->operational.value},
                  {"embodied_g", sci->embodied.value}};
}

// What a bill rests on that a site's owner can still change.
Value tail_json(account::Account const& a)
{
    if (!a.fixed) return {};
    auto const json_of = [](account::Tail const& tail) {
        return Object{{"s", tail.seconds},
                      {"kwh", tail.unpowered ? Value() : Value(tail.energy.value / 1000)},
                      {"g", tail.unpowered ? Value() : Value(tail.carbon.value)}};
    };
    auto const tail = [&](account::SiteAccount const& site) { return json_of(*site.tail); };
    return Object{{"sites", by_site(a, tail)},
                  {"sum", json_of(account::tail_of(a))},
                  {"fixed", headline_json(*a.fixed)}};
}

Value recalculated_json(account::Account const& a)
{
    if (!a.recalculated) return {};
    auto const& what = *a.recalculation;
    return Object{{"name", what.name},
                  {"trace", json::text_or_null(what.trace)},
                  {"samples", what.samples},
                  {"differing_samples", what.differing},
                  {"headline", headline_json(*a.recalculated)}};
}

Object audit_json(account::Account const& a)
{
    auto const line = [](account::AuditLine const& l) {
        return Object{{"key", l.key}, {"title", l.title}, {"text", l.text}};
    };
    return {{"rule", energy::accounting_rule},
            {"signal_kind", a.signal_kind},
            {"estimated_samples", a.estimated_samples},
            {"average", average_json(a)},
            {"g_per_million_tokens", account::grams_per_million_tokens(a)},
            {"sci", sci_json(a)},
            {"tail", tail_json(a)},
            {"recalculated", recalculated_json(a)},
            {"run_digest", a.run_digest ? Value(a.run_digest->hex()) : Value()},
            {"lines", json::array_of(account::audit_of(a), line)}};
}

// Adds what depends on a site having held devices.
void add_held(Object& doc, account::Account const& a)
{
    using account::SiteAccount;
    doc.set("hours", by_site(a, hours_json));
    doc.set("allocated_h",
            by_site(a, [](SiteAccount const& s) { return account::seconds_in(s) / 3600; }));
    auto const sites = by_site(a, [](SiteAccount const& s) { return account::goodput(s); });
    doc.set("goodput", Object{{"all", account::goodput(a)}, {"sites", sites}});
    doc.set("energy", energy_json(a));
    doc.set("times", times_json(a));
    doc.set("edges", latencies_json(a));
}

// The end of a trace ends a replay. Only a budget then still says how much is missing.
bool has_progress(account::Account const& a)
{
    if (!a.target || a.status == "complete") return false;
    return a.target->has_budget || a.status != "finished";
}

}  // namespace

json::Object written_by(std::optional<Time> generated_at)
{
    Object program{{"program", "curtail-report " + build_info().version}};
    if (generated_at)
        program.set("generated_at", format_time(std::chrono::floor<Seconds>(*generated_at)));
    return program;
}

json::Object document(account::Account const& a, std::optional<Time> generated_at)
{
    Object doc{{"schema", "curtail.report/1"}};
    doc.set("report", written_by(generated_at));
    doc.set("run", run_json(a));
    doc.set("sites", sites_json(a));
    doc.set("commits", commits_json(a));
    if (!a.signals.empty()) doc.set("signals", signals_json(a));
    if (has_progress(a)) doc.set("now", now_json(a));
    // Devices and idle nodes draw energy before the first commit.
    if (a.tokens > Tokens{} || total_of(a).energy.value > 0) doc.set("headline", headline_json(a));
    doc.set("totals", totals_json(a));
    doc.set("provenance", provenance_json(a));
    doc.set("audit", audit_json(a));
    doc.set("decisions", decisions_json(a));
    doc.set("windows", windows_json(a));
    auto const state = [](account::StateSpan const& span) {
        return Array{span.state, span.when.from_s, span.when.to_s};
    };
    doc.set("states", by_site(a, [&](auto const& s) { return json::array_of(s.states, state); }));
    doc.set("work", account::to_json(a.balances, a.stuck));
    doc.set("rounds", rounds_json(a));
    if (a.round_summary) doc.set("round_summary", round_summary_json(*a.round_summary));
    if (a.loss) doc.set("loss", loss_json(a));
    if (!a.followed.empty()) doc.set("held_out", held_out_json(a));
    if (a.held_out) doc.set("newest_held_out", newest_held_out_json(*a.held_out));
    bool const has_held = std::any_of(a.sites.begin(), a.sites.end(),
                                      [](auto const& site) { return !site.states.empty(); });
    if (has_held) add_held(doc, a);
    if (a.tokens > Tokens{}) doc.set("comparison", comparison_json(a));
    doc.set("after_signal", texts_json(account::ends_of_always_on(a)));
    doc.set("events", json::array_of(a.events, [](account::EventLine const& e) {
                return Array{e.at_s, e.type, e.round, json::text_or_null(e.site), e.details};
            }));
    doc.set("events_left_out", 0);
    Object missing;
    for (auto const& [field, reason] : a.missing) missing.set(field, reason);
    doc.set("missing", std::move(missing));
    doc.set("facts", facts_json(a));
    doc.set("notes", json::array_of(a.notes, [](auto const& n) {
                return Array{n.first, n.second};
            }));
    doc.set("warnings", texts_json(a.warnings));
    return doc;
}

json::Object shortened(json::Object document)
{
    auto const* events = document.find("events")->as_array();
    if (std::ssize(*events) <= first_events + last_events) return document;
    Array kept(events->begin(), events->begin() + first_events);
    kept.insert(kept.end(), events->end() - last_events, events->end());
    document.set("events_left_out", static_cast<std::int64_t>(events->size() - kept.size()));
    document.set("events", std::move(kept));
    return document;
}

}  // namespace curtail::report
