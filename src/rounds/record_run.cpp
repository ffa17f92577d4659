// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "core/text.hpp"
#include "rounds/names.hpp"
#include "rounds/record_fields.hpp"

namespace curtail::rounds {
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
    visit("grant_quantum", p.grant_quantum);
}

std::int64_t raw(std::int64_t value) { return value; }
std::int64_t raw(Millis value) { return value.count(); }
void put(std::int64_t& to, std::int64_t value) { to = value; }
void put(Millis& to, std::int64_t value) { to = Millis{value}; }

json::Array parts_of(RunSpec const& run)
{
    json::Array parts;
    for (auto const& part : run.parts) {
        json::Array tensors;
        for (auto const& t : part.tensors) tensors.emplace_back(t);
        parts.emplace_back(json::Object{{"name", part.name}, {"tensors", tensors}});
    }
    return parts;
}

json::Array sites_of(RunSpec const& run)
{
    json::Array sites;
    for (auto const& site : run.sites)
        sites.emplace_back(json::Object{{"name", site.value}, {"key", nullptr}});
    return sites;
}

json::Object content(RunSpec const& run)
{
    json::Object params;
    each_param(run.params,
               [&](char const* name, auto const& value) { params.set(name, raw(value)); });
    return json::Object{{"format", record_format},
                        {"run", run.run.value},
                        {"model", run.model},
                        {"data", json::Object{{"manifest", run.manifest.hex()},
                                              {"block_tokens", run.params.block_tokens.value},
                                              {"blocks_per_epoch", run.blocks_per_epoch},
                                              {"epochs", run.epochs}}},
                        {"seed", run.seed},
                        {"optimizer", run.optimizer},
                        {"outer", json::Object{{"kind", to_text(run.outer.type)},
                                               {"eta", exact(run.outer.eta)},
                                               {"mu", exact(run.outer.mu)}}},
                        {"parts", parts_of(run)},
                        {"params", params},
                        {"sites", sites_of(run)}};
}

json::Object read_object(json::ObjectReader& r, std::string const& key)
{
    auto const* value = r.any(key, true);
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    r.require(object != nullptr, key, "must be an object");
    return object != nullptr ? *object : json::Object{};
}

RunPart read_part(json::ObjectReader& r)
{
    RunPart part;
    part.name = r.text("name");
    r.require(is_plain_name(part.name), "name", "must be a plain name");
    for (auto const& tensor : r.list("tensors")) {
        r.require(tensor.as_text() != nullptr, "tensors", "must be a list of names");
        if (tensor.as_text() != nullptr) part.tensors.push_back(*tensor.as_text());
    }
    return part;
}

void read_data(json::ObjectReader& r, RunSpec& run)
{
    run.manifest = fields::digest(r, "manifest");
    run.params.block_tokens = {fields::count(r, "block_tokens", 1)};
    run.blocks_per_epoch = fields::count(r, "blocks_per_epoch", 1);
    run.epochs = fields::count(r, "epochs", 1);
    bool const fits =
        !r.error_free() ||
        run.blocks_per_epoch < Tokens{fields::integer_limit / run.epochs} / run.params.block_tokens;
    r.require(fits, "epochs", "must give a stream of less than 2^53 tokens");
}

Outer read_outer(json::ObjectReader& r)
{
    Outer outer;
    outer.type = static_cast<Outer::Type>(r.one_of("kind", {"average", "nesterov"}));
    outer.eta = fields::real(r, "eta");
    outer.mu = fields::real(r, "mu");
    return outer;
}

SiteId read_site(json::ObjectReader& r)
{
    SiteId site{r.text("name")};
    r.require(is_plain_name(site.value), "name", "must be a plain name");
    fields::only_null(r, "key");
    return site;
}

void read_params(json::ObjectReader& r, Params& p)
{
    each_param(p, [&](char const* name, auto& value) { put(value, fields::count(r, name)); });
    r.require(p.grant_quantum >= 1, "grant_quantum", "must be at least 1");
    r.require(p.max_undecided >= 1 && p.max_undecided <= 100, "max_undecided", "must be 1 to 100");
    r.require(p.max_missed >= 1, "max_missed", "must be at least 1");
    r.require(p.keep_models >= 1 && p.keep_models <= 1000, "keep_models", "must be 1 to 1000");
}

}  // namespace

Encoded encode(RunSpec const& run) { return fields::finish_with_self(content(run)); }

Result<RunSpec> decode_run(std::string_view bytes)
{
    auto object = fields::open_with_self(bytes, run_name);
    if (!object) return tl::unexpected(object.error());
    json::Value const value(std::move(*object));
    json::ObjectReader r(value, run_name, ExitCode::protocol);
    RunSpec run;
    fields::format(r);
    run.run = {r.text("run")};
    r.require(is_plain_name(run.run.value), "run", "must be a plain name");
    run.model = read_object(r, "model");
    r.object("data", [&](json::ObjectReader& o) { read_data(o, run); });
    run.seed = r.integer("seed");
    run.optimizer = read_object(r, "optimizer");
    r.object("outer", [&](json::ObjectReader& o) { run.outer = read_outer(o); });
    r.each("parts", [&](json::ObjectReader& o) { run.parts.push_back(read_part(o)); });
    r.object("params", [&](json::ObjectReader& o) { read_params(o, run.params); });
    r.each("sites", [&](json::ObjectReader& o) { run.sites.push_back(read_site(o)); });
    r.require(!run.parts.empty(), "parts", "must not be empty");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return run;
}

namespace {

// First difference between two values: `key`, or `key.inner` if both are objects.
std::string first_difference(std::string const& key, json::Value const& theirs,
                             json::Value const* ours)
{
    auto const* a = theirs.as_object();
    auto const* b = ours != nullptr ? ours->as_object() : nullptr;
    if (a == nullptr || b == nullptr) return key;
    for (auto const& [inner, content] : a->members()) {
        auto const* other = b->find(inner);
        if (other == nullptr || json::canonical(*other) != json::canonical(content))
            return key + "." + inner;
    }
    return key;
}

}  // namespace

std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours)
{
    auto const theirs = content(stored);
    auto const mine = content(ours);
    for (auto const& [key, value] : theirs.members()) {
        if (key == "sites") continue;
        auto const* other = mine.find(key);
        if (other != nullptr && json::canonical(value) == json::canonical(*other)) continue;
        return Error{
            ExitCode::config, "cannot join run " + printable(stored.run.value),
            first_difference(key, value, other) + " differs from this site's configuration",
            "use the run's configuration, or another run name and an empty store"};
    }
    return std::nullopt;
}

}  // namespace curtail::rounds
