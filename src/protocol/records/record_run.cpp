// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"
#include "protocol/records/terms.hpp"

namespace curtail::protocol {
namespace {

// All tensors of a model are in one payload. Its name in run.json:
constexpr char const* only_group = "0";

// Returns the fields that no amendment can change.
json::Object fixed(RunSpec const& run)
{
    json::Array const tensors(run.tensors.begin(), run.tensors.end());
    return json::Object{
        {"format", record_format},
        {"run", run.run.value},
        {"model", run.model},
        {"data", json::Object{{"manifest", run.manifest.hex()},
                              {"block_tokens", run.params.block_tokens.value},
                              {"blocks_per_epoch", run.blocks_per_epoch},
                              {"epochs", run.epochs}}},
        {"seed", run.seed},
        {"optimizer", run.optimizer},
        {"parts", json::Array{json::Object{{"name", only_group}, {"tensors", tensors}}}}};
}

// The budget comes before `optimizer`, because by default the optimizer's schedule follows from it.
// A difference in the budget explains one in the schedule.
json::Object with_budget(RunSpec const& run)
{
    json::Object object;
    if (run.budget) object.set("training", json::Object{{"tokens", run.budget->value}});
    auto const rest = fixed(run);
    for (auto const& [key, value] : rest.members()) object.set(key, value);
    return object;
}

json::Object read_object(json::ObjectReader& r, std::string const& key)
{
    auto const* value = r.any(key, true);
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    r.require(object != nullptr, key, "must be an object");
    return object != nullptr ? *object : json::Object{};
}

void read_groups(json::ObjectReader& r, RunSpec& run)
{
    int count = 0;
    r.each("parts", [&](json::ObjectReader& o) {
        ++count;
        o.require(o.text("name") == only_group, "name", std::string("must be ") + only_group);
        for (auto const& tensor : o.list("tensors")) {
            o.require(tensor.as_text() != nullptr, "tensors", "must be a list of names");
            if (tensor.as_text() != nullptr) run.tensors.push_back(*tensor.as_text());
        }
    });
    r.require(count == 1, "parts", "must have one entry");
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

}  // namespace

EncodedRecord encode(RunSpec const& run)
{
    auto object = fixed(run);
    if (run.fork)
        object.set("fork", json::Object{{"run", run.fork->run.value},
                                        {"number", run.fork->number.value},
                                        {"sha256", run.fork->sha256.hex()}});
    object.set("terms", fields::of(terms_of(run)));
    return fields::finish_with_self(std::move(object));
}

Result<RunSpec> decode_run(std::string_view bytes)
{
    return fields::decode<RunSpec>(bytes, run_name, [&](json::ObjectReader& r, RunSpec& run) {
        run.run = {fields::plain_name(r, "run")};
        if (r.any("fork") != nullptr)
            r.object("fork", [&](json::ObjectReader& o) {
                run.fork = {{fields::plain_name(o, "run")},
                            {fields::count(o, "number", 1)},
                            fields::digest(o, "sha256")};
            });
        run.model = read_object(r, "model");
        r.object("data", [&](json::ObjectReader& o) { read_data(o, run); });
        run.seed = r.integer("seed");
        run.optimizer = read_object(r, "optimizer");
        read_groups(r, run);
        r.object("terms", [&](json::ObjectReader& o) { run = with_terms(run, fields::terms(o)); });
        r.require(!r.error_free() || run.stream_blocks() <= run.data_blocks(), "terms.tokens",
                  "must be at most the tokens of all epochs");
    });
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

// The fields that differ, also inside objects; their fields are named `key.inner`.
std::vector<Difference> all_differences(json::Object const& stored, json::Object const& ours,
                                        std::string const& prefix = "")
{
    std::vector<Difference> all;
    for (auto const& key : keys_of(stored, ours)) {
        auto const* theirs = stored.find(key);
        auto const* mine = ours.find(key);
        bool const both = theirs != nullptr && mine != nullptr;
        if (both && json::canonical(*theirs) == json::canonical(*mine)) continue;
        auto inner = all_differences(object_in(theirs), object_in(mine), prefix + key + ".");
        if (inner.empty()) inner.push_back({prefix + key, theirs, mine});
        all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
}

// An integer or `absent`; empty for values that say nothing to people, such as digests.
std::optional<std::string> readable(json::Value const* value)
{
    if (value == nullptr) return "absent";
    auto const* integer = value->as_integer();
    return integer != nullptr ? std::optional(std::to_string(*integer)) : std::nullopt;
}

std::string text_of(Difference const& found, char const* where)
{
    auto const stored = readable(found.stored);
    auto const ours = readable(found.ours);
    if (!stored || !ours) return found.key + " differs from this site's configuration";
    return fmt::format("{} is {} {} and {} in this site's configuration", found.key, *stored, where,
                       *ours);
}

}  // namespace

std::vector<std::string> differences(Terms const& in_force, Terms const& ours)
{
    auto mine = ours;
    mine.sites = in_force.sites;
    auto const left = fields::of(in_force);
    auto const right = fields::of(mine);
    std::vector<std::string> texts;
    for (auto const& found : all_differences(left, right))
        texts.push_back(text_of(found, "in the run's terms"));
    return texts;
}

std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours)
{
    if (json::canonical(fixed(stored)) == json::canonical(fixed(ours))) return std::nullopt;
    auto const theirs = with_budget(stored);
    auto const mine = with_budget(ours);
    auto const found = all_differences(theirs, mine);
    return Error{ExitCode::config, "cannot join run " + printable(stored.run.value),
                 text_of(found.front(), "in the store's run.json"),
                 "use the run's configuration, or another run name and an empty store"};
}

}  // namespace curtail::protocol
