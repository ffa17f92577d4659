// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "base/core/text.hpp"
#include "protocol/records/record_fields.hpp"

namespace curtail::protocol::fields {
namespace {

std::int64_t raw(std::int64_t value) { return value; }
std::int64_t raw(Millis value) { return value.count(); }
void put(std::int64_t& to, std::int64_t value) { to = value; }
void put(Millis& to, std::int64_t value) { to = Millis{value}; }

std::vector<SiteId> read_sites(json::ObjectReader& r, std::size_t least)
{
    std::vector<SiteId> sites;
    std::set<SiteId> known;
    for (auto const& name : r.list("sites")) {
        auto const* text = name.as_text();
        bool const good = text != nullptr && is_plain_name(*text) && known.insert({*text}).second;
        r.require(good, "sites", "must be a list of different names");
        if (good) sites.push_back({*text});
    }
    r.require(sites.size() >= least && sites.size() <= sites_limit, "sites",
              fmt::format("must be {} to {}", least, sites_limit));
    return sites;
}

}  // namespace

json::Object of(Terms const& terms)
{
    std::vector<std::pair<std::string, json::Value>> params;
    each_param(terms.params, [&](ParamKey const& key, auto const& value) {
        params.emplace_back(key.record, raw(value));
    });
    return json::Object{
        {"outer", json::Object{{"eta", exact(terms.outer.eta)},
                               {"kind", to_text(terms.outer.type)},
                               {"mu", exact(terms.outer.mu)}}},
        {"params", json::Object::of_distinct(std::move(params))},
        {"sites", json::array_of(terms.sites, [](SiteId const& site) { return site.value; })},
        {"tokens", terms.budget ? json::Value(terms.budget->value) : json::Value()}};
}

Terms terms(json::ObjectReader& r, Together together)
{
    Terms terms;
    r.object("outer", [&](json::ObjectReader& o) {
        terms.outer.type = static_cast<Outer::Type>(o.one_of("kind", {"average", "nesterov"}));
        terms.outer.eta = real(o, "eta", eta_range);
        terms.outer.mu = real(o, "mu", mu_range);
    });
    r.object("params", [&](json::ObjectReader& o) {
        auto& p = terms.params;
        each_param(p, [&](ParamKey const& key, auto& value) {
            put(value, count(o, key.record, key.least, key.most));
        });
        bool const lasts = together == Together::unknown || p.drop_after >= shortest_drop_after(p);
        o.require(lasts, "drop_after_ms",
                  "must be at least twice round_time_ms and checkpoint_interval_ms");
    });
    terms.sites = read_sites(r, together == Together::unknown ? 0 : 1);
    if (!is_null(r, "tokens")) terms.budget = Tokens{count(r, "tokens", 1)};
    return terms;
}

}  // namespace curtail::protocol::fields
