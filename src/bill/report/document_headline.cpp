// SPDX-License-Identifier: Apache-2.0
#include "bill/report/document_parts.hpp"

#include "bill/account/figures.hpp"

namespace curtail::report {

using json::Array;
using json::Object;
using json::Value;

namespace {

std::optional<double> share_of(energy::Tally const& tally) { return tally.clean_share(); }
std::optional<double> kg_of(energy::Tally const& tally) { return in_kilo(tally.known_carbon()); }

Array tail_json(account::FinalLoss const& loss) { return Array{loss.tail_loss, loss.tail_error}; }

Object always_on_json(account::Scenario const& s, account::Account const& a)
{
    auto const& tally = s.tally;
    return Object{{"region", s.region},
                  {"as_site", json::text_or_null(s.as_site)},
                  {"elsewhere", s.elsewhere},
                  {"rate", rate_json(s.rate)},
                  {"kg", kg_of(tally)},
                  {"kwh", in_kilo(tally.drawn())},
                  {"unknown_kwh", tally.unknown.value / 1000},
                  {"co2_bound", energy::name(tally.carbon_bound())},
                  {"share", share_of(tally)},
                  {"observed", s.observed},
                  {"tokens", s.tokens.value},
                  {"ratio", account::carbon_ratio(total_of(a), a, s)}};
}

Object scenario_json(account::Scenario const& s, account::Account const& a)
{
    auto const ratio = account::carbon_ratio(total_of(a), a, s);
    Object tally;
    add_tally(tally, s.tally).set("ratio", ratio);
    return {{"id", s.id},
            {"label", s.label},
            {"region", json::text_or_null(s.region)},
            {"sites", s.sites},
            {"as_site", json::text_or_null(s.as_site)},
            {"elsewhere", s.elsewhere},
            {"rate", rate_json(s.rate)},
            {"wall_s", s.wall_s},
            {"s_step", s.step},
            {"kwh", in_kilo(s.tally.drawn())},
            {"unknown_kwh", s.tally.unknown.value / 1000},
            {"observed", s.observed},
            {"tallies", Array{std::move(tally)}},
            {"share", share_of(s.tally)},
            {"kg", kg_of(s.tally)},
            {"ratio", ratio},
            {"tokens", s.tokens.value},
            {"ppl", s.perplexity},
            {"held_out_ppl", s.held_out_perplexity},
            {"tail", s.tail ? Value(tail_json(*s.tail)) : Value()}};
}

void add_energy_headline(Object& out, account::Account const& a)
{
    auto const bill = total_bill(a);
    auto const& total = bill.total;
    Object shares;
    for (auto const& s : a.always_on) shares.set(s.region, share_of(s.tally));
    auto const mean = total.mean_intensity();
    out.set("co2_outside_kg", in_kilo(total.known_carbon_dirty()));
    out.set("energy_kwh", in_kilo(total.drawn()));
    auto const if_idle = total_if_idle(a);
    out.set("energy_if_idle_kwh", if_idle ? Value(in_kilo(if_idle->drawn())) : Value());
    out.set("co2_if_idle_kg", if_idle ? Value(kg_of(*if_idle)) : Value());
    out.set("between_jobs", by_site(a, [](account::SiteAccount const& s) {
                return Value(energy::name(s.between_jobs));
            }));
    out.set("kwh_outside", in_kilo(total.dirty()));
    out.set("kwh_unknown", total.unknown.value / 1000);
    out.set("share", share_of(total));
    out.set("share_inside_windows", bill.inside_share());
    out.set("share_baseline", std::move(shares));
    out.set("mean_intensity", mean ? Value(mean->value) : Value());
}

void add_loss_headline(Object& out, account::Account const& a)
{
    auto const* final = a.loss ? &a.loss->finals.front() : nullptr;
    out.set("best_ppl", final != nullptr ? Value(final->best_perplexity) : Value());
    out.set("tail_loss", final != nullptr ? Value(tail_json(*final)) : Value());
    if (a.held_out) out.set("held_out", newest_held_out_json(*a.held_out));
}

}  // namespace

json::Value headline_json(account::Account const& a)
{
    using account::SiteAccount;
    auto const total = total_of(a);
    Object out{{"co2_kg", kg_of(total)},
               {"co2_is_whole", total.whole()},
               {"energy_is_whole", total.bound == energy::Bound::exact},
               {"energy_bound", energy::name(total.bound)},
               {"co2_bound", energy::name(total.carbon_bound())}};
    out.set("co2_by_site", by_site(a, [](SiteAccount const& s) { return kg_of(s.bill.total); }));
    // The scenario with the lowest carbon comes first.
    out.set("always_on", json::array_of(always_on_by_carbon(a),
                                        [&](auto const& s) { return always_on_json(s, a); }));
    add_energy_headline(out, a);
    out.set("wall_s", a.last_step_s);
    add_loss_headline(out, a);
    out.set("tokens", a.tokens.value);
    out.set("tokens_by_site", by_site(a, [](SiteAccount const& s) { return s.tokens.value; }));
    out.set("goodput", goodput(a));
    out.set("training_h", training_s(a) / 3600);
    out.set("allocated_h", allocated_s(a) / 3600);
    out.set("rounds", a.rounds.size());
    out.set("joint_rounds", a.commits.joint);
    return out;
}

json::Value now_json(account::Account const& a)
{
    account::TokenProgress const progress{a.target->tokens, a.tokens, a.speed};
    auto const left = progress.training_left();
    auto const total = total_of(a);
    bool const has_epoch = a.target->epoch > Tokens{};
    return Object{{"target_tokens", a.target->tokens.value},
                  {"is_budget", a.target->has_budget},
                  {"tokens", a.tokens.value},
                  {"share", progress.share()},
                  {"epochs", has_epoch ? Value(ratio(a.tokens, a.target->epoch)) : Value()},
                  {"most_epochs", a.target->epochs},
                  {"tokens_per_s", a.speed ? Value(a.speed->tokens_per_s) : Value()},
                  {"measured_s", a.speed ? Value(a.speed->measured.count()) : Value()},
                  {"training_left_s", left ? Value(left->count()) : Value()},
                  {"training_left", left ? Value(account::training_text(*left)) : Value()},
                  {"kwh", in_kilo(total.drawn())},
                  {"gco2", in_grams(total.known_carbon())},
                  {"co2_is_whole", total.whole()},
                  {"energy_is_whole", total.bound == energy::Bound::exact},
                  {"energy_bound", energy::name(total.bound)},
                  {"co2_bound", energy::name(total.carbon_bound())}};
}

json::Value comparison_json(account::Account const& a)
{
    Object mine = scenario_json(run_scenario(a), a);
    mine.set("split", by_site(a, [](auto const& s) { return kg_of(s.bill.total); }));
    Array out{std::move(mine)};
    for (auto const& s : a.always_on) out.emplace_back(scenario_json(s, a));
    return out;
}

}  // namespace curtail::report
