// SPDX-License-Identifier: Apache-2.0
#include "data/shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.hpp"
#include "tensors/tensor_file.hpp"

namespace curtail::data {
namespace {

constexpr char const* shard_format = "curtail-tokens-1";
constexpr std::int64_t max_shard_bytes = std::int64_t{1} << 34;

std::string short_hex(Digest const& digest) { return digest.hex().substr(0, 12) + ".."; }

std::string differs(Digest const& expected, Digest const& found)
{
    return "digest differs (expected " + short_hex(expected) + ", found " + short_hex(found) + ")";
}

tl::unexpected<Error> bad_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                                std::string why)
{
    return fail(ExitCode::data, "cannot read shard " + (folder / entry.file).string(),
                std::move(why), "run `curtail-data verify " + folder.string() + "`");
}

/// Why label, counts or offsets of a shard contradict the manifest; empty: they do not.
std::string contradiction(Shard const& shard, json::Object const& attributes,
                          ShardEntry const& entry, ShardLabel const& label)
{
    auto const text = [&](char const* key) {
        auto const* value = attributes.find(key);
        return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string();
    };
    if (text("format") != shard_format) return std::string("its format is not ") + shard_format;
    if (text("part") != name_of(label.part))
        return std::string("it is no part of ") + name_of(label.part);
    if (text("tokenizer") != label.tokenizer.hex()) return "it was made with another tokenizer";
    if (static_cast<std::int64_t>(shard.tokens.size()) != entry.tokens)
        return "it has " + std::to_string(shard.tokens.size()) + " tokens";
    if (static_cast<std::int64_t>(shard.documents.size()) != entry.documents)
        return "it has " + std::to_string(shard.documents.size()) + " documents";
    if (std::any_of(shard.tokens.begin(), shard.tokens.end(),
                    [&](Token token) { return token >= label.vocabulary; }))
        return "it has a token outside the vocabulary";
    std::int64_t before = -1;
    for (auto const start : shard.documents) {
        if (start <= before || start >= entry.tokens) return "its documents overlap";
        before = start;
    }
    return {};
}

}  // namespace

Result<ShardEntry> write_shard(std::filesystem::path const& folder, std::string const& file,
                               Shard const& shard, ShardLabel const& label)
{
    tensors::TensorWriter writer;
    writer.add<Token>("tokens", {static_cast<std::int64_t>(shard.tokens.size())}, shard.tokens);
    writer.add<std::int64_t>("documents", {static_cast<std::int64_t>(shard.documents.size())},
                             shard.documents);
    writer.attribute("format", shard_format);
    writer.attribute("part", name_of(label.part));
    writer.attribute("tokenizer", label.tokenizer.hex());
    writer.attribute("vocabulary", label.vocabulary);
    return writer.encode().and_then([&](std::string const& bytes) {
        return write_file(folder / file, bytes).map([&] {
            return ShardEntry{file, sha256(bytes), static_cast<std::int64_t>(shard.tokens.size()),
                              static_cast<std::int64_t>(shard.documents.size())};
        });
    });
}

Result<Shard> read_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                         ShardLabel const& label)
{
    auto bytes = read_file(folder / entry.file, max_shard_bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    if (auto const found = sha256(*bytes); found != entry.sha256)
        return bad_shard(folder, entry, differs(entry.sha256, found));
    auto const reader =
        tensors::TensorReader::from_bytes(std::move(*bytes), (folder / entry.file).string());
    if (!reader) return tl::unexpected(reader.error());
    auto tokens = reader->read<Token>("tokens");
    if (!tokens) return tl::unexpected(tokens.error());
    auto documents = reader->read<std::int64_t>("documents");
    if (!documents) return tl::unexpected(documents.error());
    Shard shard{std::move(*tokens), std::move(*documents)};
    if (auto const why = contradiction(shard, reader->attributes(), entry, label); !why.empty())
        return bad_shard(folder, entry, why);
    return shard;
}

Result<void> ShardWriter::add(std::span<Token const> tokens, std::int64_t text_bytes)
{
    open_.documents.push_back(static_cast<std::int64_t>(open_.tokens.size()));
    done_.text_bytes += text_bytes;
    while (!tokens.empty()) {
        auto const room = static_cast<std::size_t>(shard_tokens_) - open_.tokens.size();
        auto const now = tokens.first(std::min(room, tokens.size()));
        open_.tokens.insert(open_.tokens.end(), now.begin(), now.end());
        tokens = tokens.subspan(now.size());
        if (static_cast<std::int64_t>(open_.tokens.size()) == shard_tokens_)
            if (auto flushed = flush(); !flushed) return flushed;
    }
    return {};
}

Result<void> ShardWriter::flush()
{
    auto entry =
        write_shard(folder_, fmt::format("{}-{:05}.h5", name_of(label_.part), done_.shards.size()),
                    open_, label_);
    if (!entry) return tl::unexpected(entry.error());
    done_.tokens += entry->tokens;
    done_.documents += entry->documents;
    done_.shards.push_back(std::move(*entry));
    open_ = {};
    return {};
}

Result<PartEntry> ShardWriter::finish()
{
    if (!open_.tokens.empty())
        if (auto flushed = flush(); !flushed) return tl::unexpected(flushed.error());
    return std::move(done_);
}

namespace {

/// Why the tokenizer's file is not the one that the manifest names; empty: it is.
std::string tokenizer_fault(std::filesystem::path const& folder, Manifest const& manifest)
{
    auto const bytes = read_file(folder / tokenizer_file, max_tokenizer_bytes);
    if (!bytes) return bytes.error().why;
    if (auto const found = sha256(*bytes); found != manifest.tokenizer)
        return differs(manifest.tokenizer, found);
    auto const tokenizer = Tokenizer::parse(*bytes, tokenizer_file);
    if (!tokenizer) return tokenizer.error().why;
    if (tokenizer->vocabulary() != manifest.vocabulary)
        return fmt::format("it has {} tokens", tokenizer->vocabulary());
    return {};
}

}  // namespace

Result<Verification> verify(std::filesystem::path const& folder, Report const& report)
{
    auto manifest = read_manifest(folder);
    if (!manifest) return tl::unexpected(manifest.error());
    Verification found{std::move(*manifest), {}};
    auto const& names = found.manifest;
    if (auto why = tokenizer_fault(folder, names); !why.empty())
        found.bad.push_back({tokenizer_file, std::move(why)});
    double done = 0;
    auto const whole =
        static_cast<double>(names.train.shards.size() + names.held_out.shards.size());
    for (auto const part : {Part::train, Part::held_out})
        for (auto const& entry : names.part(part).shards) {
            if (auto const shard =
                    read_shard(folder, entry, {part, names.tokenizer, names.vocabulary});
                !shard)
                found.bad.push_back({entry.file, shard.error().why});
            if (report) report(++done, whole);
        }
    return found;
}

}  // namespace curtail::data
