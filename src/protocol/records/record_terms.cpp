// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "base/core/text.hpp"
#include "protocol/records/record_fields.hpp"

namespace curtail::protocol::fields {
namespace {

// Visits each field of Params except block_tokens, with its name in the record. Times in ms. The
// order is that of the canonical form, and that in which differences() lists the terms.
template <class P, class Visit>
void each_param(P& p, Visit visit)
{
    visit("checkpoint_interval_ms", p.checkpoint_interval);
    visit("drop_after_ms", p.drop_after);
    visit("first_base_wait_ms", p.first_base_wait);
    visit("gather_time_ms", p.gather_time);
    visit("grant_quantum", p.grant_quantum);
    visit("keep_models", p.keep_models);
    visit("lease_ms", p.lease);
    visit("local_steps", p.local_steps);
    visit("max_aside", p.max_aside);
    visit("max_missed", p.max_missed);
    visit("max_staleness", p.max_staleness);
    visit("max_undecided", p.max_undecided);
    visit("milestone_every", p.milestone_every);
    visit("outer_min_permille", p.outer_min_permille);
    visit("poll_run_lone_ms", p.poll_run_lone);
    visit("poll_run_ms", p.poll_run);
    visit("poll_run_starved_ms", p.poll_run_starved);
    visit("poll_wait_ms", p.poll_wait);
    visit("repair_wait_ms", p.repair_wait);
    visit("round_time_ms", p.round_time);
    visit("skew_ms", p.skew);
    visit("staleness_discount_permille", p.staleness_discount_permille);
    visit("status_interval_ms", p.status_interval);
    visit("sweep_after_ms", p.sweep_after);
}

std::int64_t raw(std::int64_t value) { return value; }
std::int64_t raw(Millis value) { return value.count(); }
void put(std::int64_t& to, std::int64_t value) { to = value; }
void put(Millis& to, std::int64_t value) { to = Millis{value}; }

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
    std::vector<std::pair<std::string, json::Value>> params;
    each_param(terms.params,
               [&](char const* name, auto const& value) { params.emplace_back(name, raw(value)); });
    return json::Object{
        {"outer", json::Object{{"eta", exact(terms.outer.eta)},
                               {"kind", to_text(terms.outer.type)},
                               {"mu", exact(terms.outer.mu)}}},
        {"params", json::Object::of_distinct(std::move(params))},
        {"sites", json::array_of(terms.sites, [](SiteId const& site) { return site.value; })},
        {"tokens", terms.budget ? json::Value(terms.budget->value) : json::Value()}};
}

Terms terms(json::ObjectReader& r)
{
    Terms terms;
    r.object("outer", [&](json::ObjectReader& o) {
        terms.outer.type = static_cast<Outer::Type>(o.one_of("kind", {"average", "nesterov"}));
        terms.outer.eta = real(o, "eta");
        terms.outer.mu = real(o, "mu");
    });
    r.object("params", [&](json::ObjectReader& o) {
        auto& p = terms.params;
        each_param(p, [&](char const* name, auto& value) { put(value, count(o, name)); });
        o.require(p.grant_quantum >= 1, "grant_quantum", "must be at least 1");
        o.require(p.max_undecided >= 1 && p.max_undecided <= max_undecided_limit, "max_undecided",
                  fmt::format("must be 1 to {}", max_undecided_limit));
        o.require(p.max_missed >= 1, "max_missed", "must be at least 1");
        o.require(p.keep_models >= 1 && p.keep_models <= keep_models_limit, "keep_models",
                  fmt::format("must be 1 to {}", keep_models_limit));
    });
    terms.sites = read_sites(r);
    if (!is_null(r, "tokens")) terms.budget = Tokens{count(r, "tokens", 1)};
    return terms;
}

}  // namespace curtail::protocol::fields
