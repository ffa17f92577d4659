// SPDX-License-Identifier: Apache-2.0
#include "report/document_parts.hpp"

#include <algorithm>

#include "account/thin.hpp"

namespace curtail::report {

using json::Array;
using json::Object;
using json::Value;

json::Value rounded(account::MaybeSeconds value, int digits)
{
    if (!value) return {};
    return rounded(*value, digits);
}

json::Array rounded(std::vector<double> const& values, int digits)
{
    Array out;
    out.reserve(values.size());
    for (double const v : values) out.emplace_back(rounded(v, digits));
    return out;
}

json::Value grams(energy::Tally const& tally, int digits)
{
    auto const known = tally.known_carbon();
    return known ? Value(rounded(known->value, digits)) : Value();
}

namespace {

std::optional<double> share_of(energy::Tally const& tally) { return tally.clean_share(); }
std::optional<double> kg_of(energy::Tally const& tally) { return in_kilo(tally.known_carbon()); }

Array spans_json(std::vector<account::Span> const& spans)
{
    Array out;
    for (auto const& s : spans) out.emplace_back(Array{rounded(s.from_s, 1), rounded(s.to_s, 1)});
    return out;
}

Array tail_json(account::FinalLoss const& loss) { return Array{loss.tail_loss, loss.tail_error}; }

/// The final loss of the run itself; nullptr if there is none.
account::FinalLoss const* run_loss(account::Account const& a)
{
    return a.loss ? a.loss->final_of("run") : nullptr;
}

Value spread_json(std::optional<account::Spread> const& s)
{
    if (!s) return {};
    return Object{{"count", static_cast<std::int64_t>(s->count)},
                  {"min", rounded(s->least, 3)},
                  {"median", rounded(s->median, 3)},
                  {"max", rounded(s->greatest, 3)}};
}

Object curve_json(account::Curve const& curve, bool dots)
{
    Object out;
    if (!dots) {
        out.set("id", curve.id);
        out.set("label", curve.label);
    }
    out.set("step", rounded(curve.step, 2));
    out.set("t", rounded(curve.t, 0));
    out.set("loss", rounded(curve.loss, dots ? 3 : 4));
    if (!dots) out.set("ppl", rounded(curve.perplexity, 3));
    return out;
}

Object always_on_json(account::Scenario const& s, account::Account const& a)
{
    auto const& tally = s.range.front();
    return Object{{"region", s.region},
                  {"kg", kg_of(tally)},
                  {"kwh", tally.energy.value / 1000},
                  {"unknown_kwh", tally.unknown.value / 1000},
                  {"share", share_of(tally)},
                  {"held_kwh", s.held_wh.value / 1000},
                  {"held_s", rounded(s.held_s, 1)},
                  {"ratio", account::carbon_ratio(total_of(a), tally)}};
}

/// Adds the figures of a scenario whose regions vary, as [lowest, highest]. `run_kg`: CO2 of the
/// run.
void add_ranges(Object& out, account::Scenario const& s, double run_kg)
{
    std::vector<double> shares, kg;
    for (auto const& tally : s.range) {
        shares.push_back(tally.clean_share().value_or(0));
        kg.push_back(tally.carbon.value / 1000);
    }
    auto const [least_share, most_share] = std::minmax_element(shares.begin(), shares.end());
    auto const [least, most] = std::minmax_element(kg.begin(), kg.end());
    out.set("share_range", Array{*least_share, *most_share});
    out.set("kg_range", Array{*least, *most});
    out.set("ratio_range", Array{run_kg / *most, run_kg / *least});
}

Object scenario_json(account::Scenario const& s, account::Account const& a)
{
    Object out{{"id", s.id},
               {"label", s.label},
               {"region", s.region.empty() ? Value() : Value(s.region)},
               {"sites", static_cast<std::int64_t>(s.sites)}};
    out.set("wall_s", rounded(s.wall_s, 1));
    out.set("s_step", s.step);
    out.set("kwh", s.range.front().energy.value / 1000);
    out.set("unknown_kwh", s.range.front().unknown.value / 1000);
    out.set("held_kwh", s.held_wh.value / 1000);
    out.set("held_s", rounded(s.held_s, 1));
    if (s.range.size() == 1) {
        out.set("share", share_of(s.range[0]));
        out.set("kg", kg_of(s.range[0]));
        out.set("ratio", account::carbon_ratio(total_of(a), s.range[0]));
    } else {
        add_ranges(out, s, total_of(a).carbon.value / 1000);
    }
    out.set("tokens", s.tokens);
    out.set("ppl", s.perplexity);
    out.set("tail", s.tail ? Value(tail_json(*s.tail)) : Value());
    return out;
}

}  // namespace

namespace {

/// Always-on in each region, lowest carbon first.
Array always_on_json(account::Account const& a)
{
    auto sorted = a.always_on;
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& x, auto const& y) {
        return x.range[0].carbon < y.range[0].carbon;
    });
    Array out;
    for (auto const& s : sorted) out.emplace_back(always_on_json(s, a));
    return out;
}

Array baselines_json(account::Account const& a)
{
    Array out;
    for (auto const& b : a.baselines)
        out.emplace_back(Object{{"id", b.id},
                                {"label", b.label},
                                {"kwh", b.kwh},
                                {"wall_s", b.loss.wall_s},
                                {"best_ppl", b.loss.best_perplexity},
                                {"tail_loss", tail_json(b.loss)}});
    return out;
}

void add_energy_headline(Object& out, account::Account const& a)
{
    auto const total = total_of(a);
    Object shares;
    for (auto const& s : a.always_on) shares.set(s.region, share_of(s.range[0]));
    auto const mean = total.mean_intensity();
    out.set("co2_outside_kg", in_kilo(total.known_carbon_dirty()));
    out.set("energy_kwh", total.energy.value / 1000);
    out.set("kwh_outside", in_kilo(total.dirty()));
    out.set("kwh_unknown", total.unknown.value / 1000);
    out.set("share", share_of(total));
    out.set("share_inside_windows",
            total.energy.value > 0 ? Value(ratio(inside_windows(a), total.energy)) : Value());
    out.set("share_baseline", std::move(shares));
    out.set("mean_intensity", mean ? Value(mean->value) : Value());
}

void add_loss_headline(Object& out, account::Account const& a)
{
    auto const* final = run_loss(a);
    out.set("best_ppl", final != nullptr ? Value(final->best_perplexity) : Value());
    out.set("tail_loss", final != nullptr ? Value(tail_json(*final)) : Value());
    if (a.held_out)
        out.set("held_out", Object{{"commit", a.held_out->commit},
                                   {"newer_commit", a.held_out->newer},
                                   {"loss", a.held_out->loss},
                                   {"unigram_entropy", a.held_out->unigram_entropy},
                                   {"tokens", a.held_out->tokens},
                                   {"bits_per_byte", a.held_out->bits_per_byte}});
}

void add_work_headline(Object& out, account::Account const& a)
{
    Object tokens;
    for (auto const& s : a.sites) tokens.set(s.id.value, s.tokens);
    double const allocated = allocated_s(a);
    auto const joint =
        std::count_if(a.rounds.begin(), a.rounds.end(), [](auto const& r) { return r.joint(); });
    out.set("tokens", a.tokens);
    out.set("tokens_by_site", std::move(tokens));
    out.set("planned_tokens", a.planned_tokens);
    out.set("goodput", allocated > 0 ? Value(training_s(a) / allocated) : Value());
    out.set("training_h", training_s(a) / 3600);
    out.set("allocated_h", allocated / 3600);
    out.set("rounds", static_cast<std::int64_t>(a.rounds.size()));
    out.set("joint_rounds", static_cast<std::int64_t>(joint));
}

}  // namespace

json::Value headline_json(account::Account const& a)
{
    auto const total = total_of(a);
    Object co2;
    for (auto const& s : a.sites) co2.set(s.id.value, kg_of(s.bill.total));
    Object out{{"co2_kg", kg_of(total)}, {"co2_is_whole", total.whole()}};
    out.set("co2_by_site", std::move(co2));
    out.set("always_on", always_on_json(a));
    out.set("baselines", baselines_json(a));
    add_energy_headline(out, a);
    out.set("wall_s", rounded(a.last_step_s, 1));
    add_loss_headline(out, a);
    add_work_headline(out, a);
    return out;
}

json::Value signals_json(account::Account const& a)
{
    Object series;
    for (auto const& signal : a.signals) {
        std::vector<std::optional<double>> values;
        for (auto const& point : signal.points)
            values.push_back(point.intensity ? std::optional(point.intensity->value)
                                             : std::nullopt);
        Array t, v;
        for (auto const i : account::thin_line(std::span<std::optional<double> const>(values))) {
            t.emplace_back(rounded(seconds_between(a.time_zero, signal.points[i].time), 1));
            v.push_back(rounded(values[i], 2));
        }
        series.set(signal.region.value, Object{{"t", std::move(t)}, {"v", std::move(v)}});
    }
    return Object{{"unit", "gCO2/kWh"},
                  {"provider", a.signal_provider},
                  {"kind", "marginal"},
                  {"series", std::move(series)}};
}

json::Value windows_json(account::Account const& a)
{
    Array out;
    for (auto const& w : a.windows)
        out.emplace_back(
            Object{{"site", a.sites.at(w.site).id.value},
                   {"open_s", rounded(w.open_s, 1)},
                   {"close_s", rounded(w.close_s, 1)},
                   {"released_s", rounded(w.released_s, 1)},
                   {"closing_s", spans_json(w.closing)},
                   {"first_step_s", rounded(w.first_step_s, 1)},
                   {"last_step_s", rounded(w.last_step_s, 1)},
                   {"startup_s", w.start ? Value(rounded(w.start->seconds, 3)) : Value()},
                   {"startup_beside", w.start ? Value(w.start->others_trained) : Value()},
                   {"stop_s", w.stop ? Value(rounded(w.stop->seconds, 3)) : Value()},
                   {"stop_beside", w.stop ? Value(w.stop->others_trained) : Value()},
                   {"steps", w.steps},
                   {"kwh", rounded(w.tally.energy.value / 1000, 4)},
                   {"gco2", grams(w.tally, 3)},
                   {"kwh_outside", rounded(in_kilo(w.tally.dirty()), 4)},
                   {"kwh_unknown", rounded(w.tally.unknown.value / 1000, 4)},
                   {"gco2_outside", rounded(in_grams(w.tally.known_carbon_dirty()), 3)}});
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
                                      {"tokens", p.tokens},
                                      {"weight", rounded(p.weight, 5)},
                                      {"first_step_s", rounded(p.before, 2)},
                                      {"train_s", rounded(p.train, 2)},
                                      {"last_step_s", rounded(p.after, 2)}});
        out.emplace_back(Object{{"number", r.number},
                                {"start_s", rounded(r.start_s, 1)},
                                {"end_s", rounded(r.end_s, 1)},
                                {"merged_s", rounded(r.merged_s, 1)},
                                {"mode", r.joint() ? "joint" : "solo"},
                                {"sites", std::move(sites)},
                                {"steps", r.steps},
                                {"last_step", rounded(r.last_step, 2)},
                                {"tokens", r.tokens},
                                {"duration_s", rounded(r.duration, 2)},
                                {"merge_s", rounded(r.merge, 2)},
                                {"bytes", Value()},
                                {"delta_norm", r.delta_norm},
                                {"loss", rounded(r.loss, 4)},
                                {"kwh", rounded(r.tally.energy.value / 1000, 6)},
                                {"gco2", grams(r.tally, 5)},
                                {"note", r.note.empty() ? Value() : Value(r.note)}});
    }
    return out;
}

namespace {

Object final_json(account::FinalLoss const& f)
{
    return {{"id", f.id},
            {"label", f.label},
            {"best_ppl", rounded(f.best_perplexity, 6)},
            {"tail_loss", rounded(f.tail_loss, 6)},
            {"tail_se", rounded(f.tail_error, 6)},
            {"wall_s", rounded(f.wall_s, 1)},
            {"steps", f.steps}};
}

Object difference_json(account::LossAccount const& loss)
{
    Array curves;
    for (auto const& d : loss.differences)
        curves.emplace_back(Object{{"id", d.id},
                                   {"step", rounded(d.step, 1)},
                                   {"d", rounded(d.difference, 4)},
                                   {"se", rounded(d.error, 4)}});
    return {{"to", loss.difference_to},
            {"bucket_steps", loss.difference_bucket},
            {"curves", std::move(curves)}};
}

}  // namespace

json::Value loss_json(account::Account const& a)
{
    auto const& loss = *a.loss;
    Object raw;
    for (auto const& curve : loss.raw) raw.set(curve.id, curve_json(curve, true));
    Array curves, finals;
    for (auto const& curve : loss.curves) curves.emplace_back(curve_json(curve, false));
    for (auto const& f : loss.finals) finals.emplace_back(final_json(f));
    Object out{{"tokens_per_step", loss.tokens_per_step},
               {"smoothing", loss.smoothing},
               {"tail_steps", loss.tail_steps}};
    out.set("raw", std::move(raw));
    out.set("curves", std::move(curves));
    out.set("final", std::move(finals));
    if (!loss.differences.empty()) out.set("difference", difference_json(loss));
    return out;
}

json::Value comparison_json(account::Account const& a)
{
    auto const* final = run_loss(a);
    account::Scenario run{
        "run",    "This run", "", a.sites.size(), a.last_step_s, a.step, {total_of(a)},
        a.tokens, {},         {}};
    if (final != nullptr) {
        run.perplexity = final->best_perplexity;
        run.tail = *final;
    }
    Object mine = scenario_json(run, a);
    Object split;
    for (auto const& s : a.sites) split.set(s.id.value, kg_of(s.bill.total));
    mine.set("split", std::move(split));
    Array out{std::move(mine)};
    for (auto const& s : a.always_on) out.emplace_back(scenario_json(s, a));
    for (auto const& s : a.other_scenarios) out.emplace_back(scenario_json(s, a));
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
