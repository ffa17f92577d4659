// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/manifest.hpp"

#include <fmt/format.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "trainer/data/splitter.hpp"

namespace curtail::data {
namespace {

constexpr std::int64_t max_tokens = std::int64_t{1} << 50;

json::Object split_json(SplitEntry const& split)
{
    json::Array shards;
    for (auto const& shard : split.shards)
        shards.push_back(json::Object{{"file", shard.file},
                                      {"sha256", shard.sha256.hex()},
                                      {"tokens", shard.tokens},
                                      {"documents", shard.documents}});
    return {{"tokens", split.tokens},
            {"documents", split.documents},
            {"text_bytes", split.text_bytes},
            {"shards", std::move(shards)}};
}

Digest read_digest(json::ObjectReader& r, std::string const& key)
{
    auto const digest = Digest::from_hex(r.text(key));
    r.require(digest.has_value(), key, "must be 64 lower-case hexadecimal digits");
    return digest.value_or(Digest{});
}

std::int64_t read_count(json::ObjectReader& r, std::string const& key)
{
    auto const count = r.integer(key);
    r.require(count >= 0 && count <= max_tokens, key, "must be between 0 and 2^50");
    return count;
}

SplitEntry read_split(json::ObjectReader& r, Split which)
{
    SplitEntry split{
        read_count(r, "tokens"), read_count(r, "documents"), read_count(r, "text_bytes"), {}};
    std::int64_t tokens = 0;
    r.each("shards", [&](json::ObjectReader& s) {
        ShardEntry shard{s.text("file"), read_digest(s, "sha256"), read_count(s, "tokens"),
                         read_count(s, "documents")};
        s.require(shard.file == fmt::format("{}-{:05}.h5", name_of(which), split.shards.size()),
                  "file", "must be the next name in order");
        tokens += shard.tokens;
        split.shards.push_back(std::move(shard));
    });
    r.require(tokens == split.tokens, "tokens", "must be the sum of the shards' tokens");
    return split;
}

}  // namespace

std::string digest_mismatch(Digest const& expected, Digest const& found)
{
    auto const start_of = [](Digest const& digest) { return digest.hex().substr(0, 12) + ".."; };
    return "digest differs (expected " + start_of(expected) + ", found " + start_of(found) + ")";
}

char const* name_of(Split split) { return split == Split::train ? "train" : "heldout"; }

json::Object Manifest::to_json() const
{
    return {{"format", manifest_format},
            {"inputs", inputs_digest.hex()},
            {"tokenizer", json::Object{{"file", tokenizer_file},
                                       {"sha256", tokenizer_digest.hex()},
                                       {"pattern", split_pattern_id},
                                       {"vocabulary", vocabulary_size}}},
            {"seed", seed},
            {"held_out_share", held_out_share},
            {"train", split_json(train)},
            {"heldout", split_json(held_out)}};
}

Result<Manifest> parse_manifest(json::Value const& value, std::string const& source)
{
    Manifest manifest;
    json::ObjectReader r(value, source);
    r.require(r.text("format") == manifest_format, "format",
              std::string("must be \"") + manifest_format + "\"");
    manifest.inputs_digest = read_digest(r, "inputs");
    r.object("tokenizer", [&](json::ObjectReader& t) {
        t.require(t.text("file") == tokenizer_file, "file",
                  std::string("must be \"") + tokenizer_file + "\"");
        t.require(t.text("pattern") == split_pattern_id, "pattern",
                  "must be \"" + std::string(split_pattern_id) + "\"");
        manifest.tokenizer_digest = read_digest(t, "sha256");
        manifest.vocabulary_size = read_count(t, "vocabulary");
    });
    manifest.seed = r.integer("seed");
    manifest.held_out_share = r.number("held_out_share");
    r.object("train", [&](json::ObjectReader& p) { manifest.train = read_split(p, Split::train); });
    r.object("heldout",
             [&](json::ObjectReader& p) { manifest.held_out = read_split(p, Split::held_out); });
    if (auto error = r.finish()) return tl::unexpected(*error);
    return manifest;
}

Result<Manifest> read_manifest(std::filesystem::path const& folder)
{
    auto const file = folder / manifest_file;
    auto const value = json::parse_file(file, json::Dialect::strict);
    if (!value) {
        auto error = value.error();
        if (error.code == ExitCode::no_input)
            error.remedy = "create it with `curtail-data prepare TEXT --run RUN_FILE`";
        return tl::unexpected(error);
    }
    return parse_manifest(*value, file.string());
}

Result<Digest> manifest_digest(std::filesystem::path const& folder)
{
    return read_file(folder / manifest_file, 64 << 20).map([](std::string const& bytes) {
        return sha256(bytes);
    });
}

}  // namespace curtail::data
