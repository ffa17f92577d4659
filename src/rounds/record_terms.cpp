// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "core/text.hpp"
#include "rounds/record_fields.hpp"

namespace curtail::rounds::fields {
namespace {

// Visits each field of Params except block_tokens, with its name in the record. Times in ms.
template <class P, class Visit>
void each_param(P& p, Visit visit)
{
    visit("round_time_ms", p.round_time);
    visit("local_steps", p.local_steps);
    visit("checkpoint_interval_ms", p.checkpoint_interval);
    visit("gather_time_ms", p.gather_time);
    visit("lease_ms", p.lease);
    visit("first_base_wait_ms", p.first_base_wait);
    visit("poll_run_lone_ms", p.poll_run_lone);
    visit("poll_run_ms", p.poll_run);
    visit("poll_run_starved_ms", p.poll_run_starved);
    visit("poll_wait_ms", p.poll_wait);
    visit("drop_after_ms", p.drop_after);
    visit("skew_ms", p.skew);
    visit("max_undecided", p.max_undecided);
    visit("max_staleness", p.max_staleness);
    visit("max_missed", p.max_missed);
    visit("keep_models", p.keep_models);
    visit("milestone_every", p.milestone_every);
    visit("outer_min_permille", p.outer_min_permille);
    visit("staleness_discount_permille", p.staleness_discount_permille);
    visit("repair_wait_ms", p.repair_wait);
    visit("sweep_after_ms", p.sweep_after);
    visit("status_interval_ms", p.status_interval);
    visit("max_aside", p.max_aside);
    visit("grant_quantum", p.grant_quantum);
}

std::int64_t raw(std::int64_t value) { return value; }
std::int64_t raw(Millis value) { return value.count(); }
void put(std::int64_t& to, std::int64_t value) { to = value; }
void put(Millis& to, std::int64_t value) { to = Millis{value}; }

Outer read_outer(json::ObjectReader& r)
{
    Outer outer;
    outer.type = static_cast<Outer::Type>(r.one_of("kind", {"average", "nesterov"}));
    outer.eta = real(r, "eta");
    outer.mu = real(r, "mu");
    return outer;
}

void read_params(json::ObjectReader& r, Params& p)
{
    each_param(p, [&](char const* name, auto& value) { put(value, count(r, name)); });
    r.require(p.grant_quantum >= 1, "grant_quantum", "must be at least 1");
    r.require(p.max_undecided >= 1 && p.max_undecided <= max_undecided_limit, "max_undecided",
              fmt::format("must be 1 to {}", max_undecided_limit));
    r.require(p.max_missed >= 1, "max_missed", "must be at least 1");
    r.require(p.keep_models >= 1 && p.keep_models <= keep_models_limit, "keep_models",
              fmt::format("must be 1 to {}", keep_models_limit));
}

std::vector<SiteId> read_sites(json::ObjectReader& r)
{
    std::vector<SiteId> sites;
    std::set<SiteId> known;
    for (auto const& name : r.list("sites")) {
        auto const* text = name.as_text();
        bool const good = text != nullptr && is_plain_name(*text) && known.insert({*text}).second;
        r.require(good, "sites", "must be a list of different names");
        if (good) sites.push_back({*text});
    }
    r.require(sites.size() <= members_limit, "sites",
              fmt::format("must be at most {}", members_limit));
    return sites;
}

}  // namespace

json::Object of(Terms const& terms)
{
    json::Object params;
    each_param(terms.params,
               [&](char const* name, auto const& value) { params.set(name, raw(value)); });
    json::Array sites;
    for (auto const& site : terms.sites) sites.emplace_back(site.value);
    json::Object object{{"outer", json::Object{{"kind", to_text(terms.outer.type)},
                                               {"eta", exact(terms.outer.eta)},
                                               {"mu", exact(terms.outer.mu)}}},
                        {"params", params},
                        {"sites", sites}};
    object.set("tokens", terms.budget ? json::Value(terms.budget->value) : json::Value());
    return object;
}

Terms terms(json::ObjectReader& r)
{
    Terms terms;
    r.object("outer", [&](json::ObjectReader& o) { terms.outer = read_outer(o); });
    r.object("params", [&](json::ObjectReader& o) { read_params(o, terms.params); });
    terms.sites = read_sites(r);
    if (!is_null(r, "tokens")) terms.budget = Tokens{count(r, "tokens", 1)};
    return terms;
}

}  // namespace curtail::rounds::fields
