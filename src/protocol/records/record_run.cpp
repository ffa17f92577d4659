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

InnerOptimizer read_optimizer(json::ObjectReader& r)
{
    InnerOptimizer o;
    o.batch_tokens = {fields::count(r, "batch_tokens", 1, max_batch_tokens)};
    if (!fields::is_null(r, "schedule_tokens"))
        o.schedule = Tokens{fields::count(r, "schedule_tokens", 1)};
    o.lr_scale = fields::real(r, "lr_scale", lr_scale_range);
    o.weight_decay = fields::real(r, "weight_decay", weight_decay_range);
    o.warmdown = fields::real(r, "warmdown", share_range);
    o.final_lr = fields::real(r, "final_lr", share_range);
    o.muon_bfloat16 = r.one_of("muon_precision", {"float32", "bfloat16"}) == 1;
    return o;
}

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
        {"optimizer", to_json(run.optimizer)},
        {"parts", json::Array{json::Object{{"name", only_group}, {"tensors", tensors}}}}};
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
    run.params.block_tokens = {fields::count(r, "block_tokens", 1, max_block_tokens)};
    run.blocks_per_epoch = fields::count(r, "blocks_per_epoch", 1);
    run.epochs = fields::count(r, "epochs", 1, max_epochs);
    bool const fits =
        !r.error_free() ||
        run.blocks_per_epoch < Tokens{(max_integer + 1) / run.epochs} / run.params.block_tokens;
    r.require(fits, "epochs", "must give a stream of less than 2^53 tokens");
}

}  // namespace

json::Object to_json(InnerOptimizer const& o)
{
    return {{"batch_tokens", o.batch_tokens.value},
            {"schedule_tokens", json::value_or_null(o.schedule)},
            {"lr_scale", exact(o.lr_scale)},
            {"weight_decay", exact(o.weight_decay)},
            {"warmdown", exact(o.warmdown)},
            {"final_lr", exact(o.final_lr)},
            {"muon_precision", o.muon_bfloat16 ? "bfloat16" : "float32"}};
}

Result<EncodedRecord> encode_if_valid(RunSpec const& run)
{
    auto object = fixed(run);
    if (run.fork)
        object.set("fork", json::Object{{"run", run.fork->run.value},
                                        {"number", run.fork->number.value},
                                        {"sha256", run.fork->sha256.hex()}});
    object.set("terms", fields::of(terms_of(run)));
    auto encoded = fields::finish_with_self(std::move(object));
    auto const read = decode_run(encoded.bytes);
    return fields::if_valid(std::move(encoded), read);
}

EncodedRecord encode(RunSpec const& run) { return fields::valid(encode_if_valid(run)); }

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
        run.seed = fields::count(r, "seed");
        r.object("optimizer", [&](json::ObjectReader& o) { run.optimizer = read_optimizer(o); });
        read_groups(r, run);
        r.object("terms", [&](json::ObjectReader& o) { run = with_terms(run, fields::terms(o)); });
        r.require(!r.error_free() || run.stream_blocks() <= run.data_blocks(), "terms.tokens",
                  "must be at most the tokens of all epochs");
    });
}

std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours)
{
    auto const found = fields::differences(fixed(stored), fixed(ours));
    if (found.empty()) return std::nullopt;
    auto const& [key, theirs, mine] = found.front();
    auto const left = fields::to_text(theirs);
    auto const right = fields::to_text(mine);
    return Error{
        ExitCode::config, "cannot join run " + printable(stored.run.value),
        left == right
            ? key + " differs from this site's configuration"
            : fmt::format("{} is {} in the store's run.json and {} in this site's configuration",
                          key, left, right),
        "use the run's configuration, or another run name and an empty store"};
}

}  // namespace curtail::protocol
