// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

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

// `training` comes before `optimizer`: difference() reports the first field that differs, and by
// default the optimizer's schedule follows from the budget.
json::Object content(RunSpec const& run)
{
    json::Object params;
    each_param(run.params,
               [&](char const* name, auto const& value) { params.set(name, raw(value)); });
    json::Object object{{"format", record_format},
                        {"run", run.run.value},
                        {"model", run.model},
                        {"data", json::Object{{"manifest", run.manifest.hex()},
                                              {"block_tokens", run.params.block_tokens.value},
                                              {"blocks_per_epoch", run.blocks_per_epoch},
                                              {"epochs", run.epochs}}},
                        {"seed", run.seed}};
    if (run.budget) object.set("training", json::Object{{"tokens", run.budget->value}});
    object.set("optimizer", run.optimizer)
        .set("outer", json::Object{{"kind", to_text(run.outer.type)},
                                   {"eta", exact(run.outer.eta)},
                                   {"mu", exact(run.outer.mu)}})
        .set("parts", parts_of(run))
        .set("params", params)
        .set("sites", sites_of(run));
    return object;
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
    r.require(p.max_undecided >= 1 && p.max_undecided <= max_undecided_limit, "max_undecided",
              fmt::format("must be 1 to {}", max_undecided_limit));
    r.require(p.max_missed >= 1, "max_missed", "must be at least 1");
    r.require(p.keep_models >= 1 && p.keep_models <= keep_models_limit, "keep_models",
              fmt::format("must be 1 to {}", keep_models_limit));
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
    r.object(
        "training",
        [&](json::ObjectReader& o) { run.budget = Tokens{fields::count(o, "tokens", 1)}; }, false);
    run.optimizer = read_object(r, "optimizer");
    r.object("outer", [&](json::ObjectReader& o) { run.outer = read_outer(o); });
    r.each("parts", [&](json::ObjectReader& o) { run.parts.push_back(read_part(o)); });
    r.object("params", [&](json::ObjectReader& o) { read_params(o, run.params); });
    r.each("sites", [&](json::ObjectReader& o) { run.sites.push_back(read_site(o)); });
    r.require(!run.parts.empty(), "parts", "must not be empty");
    r.require(!r.error_free() || run.stream_blocks() <= run.data_blocks(), "training.tokens",
              "must be at most the tokens of all epochs");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return run;
}

namespace {

// A field whose values differ in two records. A null pointer stands for an absent field.
struct Difference {
    std::string key;
    json::Value const* stored;
    json::Value const* ours;
};

json::Object const& object_in(json::Value const* value)
{
    static json::Object const empty;
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    return object != nullptr ? *object : empty;
}

bool equal(json::Value const* a, json::Value const* b)
{
    return a != nullptr && b != nullptr && json::canonical(*a) == json::canonical(*b);
}

// The keys of one object only come first, because other differences may follow from them.
std::vector<std::string> keys_of(json::Object const& a, json::Object const& b)
{
    std::vector<std::string> keys;
    std::vector<std::string> common;
    for (auto const& [key, value] : a.members())
        (b.find(key) != nullptr ? common : keys).push_back(key);
    for (auto const& [key, value] : b.members())
        if (a.find(key) == nullptr) keys.push_back(key);
    keys.insert(keys.end(), common.begin(), common.end());
    return keys;
}

// The first field that differs, also inside objects; their fields are named `key.inner`.
std::optional<Difference> first_difference(json::Object const& stored, json::Object const& ours,
                                           std::string const& prefix = "")
{
    for (auto const& key : keys_of(stored, ours)) {
        auto const* theirs = stored.find(key);
        auto const* mine = ours.find(key);
        if ((prefix.empty() && key == "sites") || equal(theirs, mine)) continue;
        auto inner = first_difference(object_in(theirs), object_in(mine), prefix + key + ".");
        return inner ? inner : Difference{prefix + key, theirs, mine};
    }
    return std::nullopt;
}

// An integer or `absent`; empty for values that say nothing to people, such as digests.
std::optional<std::string> readable(json::Value const* value)
{
    if (value == nullptr) return "absent";
    auto const* integer = value->as_integer();
    return integer != nullptr ? std::optional(std::to_string(*integer)) : std::nullopt;
}

std::string text_of(Difference const& found)
{
    auto const stored = readable(found.stored);
    auto const ours = readable(found.ours);
    if (!stored || !ours) return found.key + " differs from this site's configuration";
    return fmt::format("{} is {} in the store's run.json and {} in this site's configuration",
                       found.key, *stored, *ours);
}

}  // namespace

std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours)
{
    auto const theirs = content(stored);
    auto const mine = content(ours);
    auto const found = first_difference(theirs, mine);
    if (!found) return std::nullopt;
    return Error{ExitCode::config, "cannot join run " + printable(stored.run.value),
                 text_of(*found),
                 "use the run's configuration, or another run name and an empty store"};
}

}  // namespace curtail::rounds
