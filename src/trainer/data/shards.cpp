// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/files.hpp"
#include "storage/tensors/reader.hpp"
#include "storage/tensors/writer.hpp"

namespace curtail::data {
namespace {

constexpr char const* shard_format = "curtail-tokens-1";
constexpr std::int64_t max_shard_bytes = std::int64_t{1} << 34;

std::string verify_remedy(std::filesystem::path const& folder)
{
    return "run `curtail-data verify " + folder.string() + "`";
}

tl::unexpected<Error> bad_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                                std::string why)
{
    return fail(ExitCode::data, "cannot read shard " + (folder / entry.file).string(),
                std::move(why), verify_remedy(folder));
}

// Says how the attributes of a shard contradict the manifest. Empty if they match.
std::string attribute_mismatch(json::Object const& attributes, ShardLabel const& label)
{
    if (attributes.text_at("format") != shard_format)
        return std::string("its format is not ") + shard_format;
    if (attributes.text_at("part") != name_of(label.split))
        return std::string("it does not belong to ") + name_of(label.split);
    if (attributes.text_at("tokenizer") != label.tokenizer_digest.hex())
        return "it was made with a different tokenizer";
    return {};
}

// Says how the content of a shard contradicts the manifest. Empty if it matches.
std::string content_mismatch(Shard const& shard, ShardEntry const& entry, ShardLabel const& label)
{
    if (std::ssize(shard.tokens) != entry.tokens)
        return "it has " + std::to_string(shard.tokens.size()) + " tokens";
    if (std::ssize(shard.documents) != entry.documents)
        return "it has " + std::to_string(shard.documents.size()) + " documents";
    if (std::ranges::any_of(shard.tokens,
                            [&](Token token) { return token >= label.vocabulary_size; }))
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
    writer.attribute("part", name_of(label.split));
    writer.attribute("tokenizer", label.tokenizer_digest.hex());
    writer.attribute("vocabulary", label.vocabulary_size);
    auto const bytes = writer.encode();
    return write_file(folder / file, bytes).map([&] {
        return ShardEntry{file, sha256(bytes), static_cast<std::int64_t>(shard.tokens.size()),
                          static_cast<std::int64_t>(shard.documents.size())};
    });
}

Result<Shard> read_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                         ShardLabel const& label)
{
    auto bytes = read_file(folder / entry.file, max_shard_bytes);
    if (!bytes) {
        auto error = bytes.error();
        if (error.remedy.empty()) error.remedy = verify_remedy(folder);
        return tl::unexpected(std::move(error));
    }
    if (auto const found = sha256(*bytes); found != entry.sha256)
        return bad_shard(folder, entry, digest_mismatch(entry.sha256, found));
    auto const reader =
        tensors::TensorReader::from_bytes(std::move(*bytes), (folder / entry.file).string());
    if (!reader) return tl::unexpected(reader.error());
    auto why = attribute_mismatch(reader->attributes(), label);
    if (!why.empty()) return bad_shard(folder, entry, std::move(why));
    auto tokens = reader->read<Token>("tokens");
    if (!tokens) return tl::unexpected(tokens.error());
    auto documents = reader->read<std::int64_t>("documents");
    if (!documents) return tl::unexpected(documents.error());
    Shard shard{std::move(*tokens), std::move(*documents)};
    why = content_mismatch(shard, entry, label);
    if (!why.empty()) return bad_shard(folder, entry, std::move(why));
    return shard;
}

Result<void> ShardWriter::add(std::span<Token const> tokens, std::int64_t text_bytes)
{
    open_.documents.push_back(static_cast<std::int64_t>(open_.tokens.size()));
    done_.text_bytes += text_bytes;
    while (!tokens.empty()) {
        auto const space = static_cast<std::size_t>(shard_tokens_) - open_.tokens.size();
        auto const now = tokens.first(std::min(space, tokens.size()));
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
        write_shard(folder_, fmt::format("{}-{:05}.h5", name_of(label_.split), done_.shards.size()),
                    open_, label_);
    if (!entry) return tl::unexpected(entry.error());
    done_.tokens += entry->tokens;
    done_.documents += entry->documents;
    done_.shards.push_back(std::move(*entry));
    open_ = {};
    return {};
}

Result<SplitEntry> ShardWriter::finish()
{
    if (!open_.tokens.empty())
        if (auto flushed = flush(); !flushed) return tl::unexpected(flushed.error());
    return std::move(done_);
}

}  // namespace curtail::data
