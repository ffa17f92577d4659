// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "storage/tensors/reader.hpp"
#include "trainer/data/stream.hpp"

namespace curtail::data {
namespace {

constexpr std::int64_t sample_tokens = 48;

Result<SplitSummary> summarize_split(TokenStream& stream, SplitEntry const& split)
{
    if (split.tokens == 0) return SplitSummary{};
    auto const entropy = unigram_entropy(stream);
    if (!entropy) return tl::unexpected(entropy.error());
    return SplitSummary{static_cast<double>(split.text_bytes) / static_cast<double>(split.tokens),
                        *entropy};
}

std::string split_line(char const* name, SplitEntry const& split, SplitSummary const& summary)
{
    return fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13.3f}{:>18.4f}\n", name, split.documents,
                       split.text_bytes, split.tokens, split.shards.size(), summary.bytes_per_token,
                       summary.unigram_entropy);
}

json::Object split_json(SplitEntry const& split, SplitSummary const& summary)
{
    return {{"documents", split.documents},
            {"text_bytes", split.text_bytes},
            {"tokens", split.tokens},
            {"shards", std::ssize(split.shards)},
            {"bytes_per_token", summary.bytes_per_token},
            {"unigram_entropy_nats", summary.unigram_entropy}};
}

}  // namespace

Result<Summary> summarize(std::filesystem::path const& folder)
{
    auto train = TokenStream::open(folder, Split::train);
    if (!train) return tl::unexpected(train.error());
    auto held_out = TokenStream::open(folder, Split::held_out);
    if (!held_out) return tl::unexpected(held_out.error());
    auto const& manifest = train->manifest();
    auto const train_split = summarize_split(*train, manifest.train);
    if (!train_split) return tl::unexpected(train_split.error());
    auto const held_out_split = summarize_split(*held_out, manifest.held_out);
    if (!held_out_split) return tl::unexpected(held_out_split.error());
    std::vector<Token> tokens(static_cast<std::size_t>(std::min(sample_tokens, train->tokens())));
    if (auto read = train->read(0, tokens); !read) return tl::unexpected(read.error());
    auto const sample =
        Tokenizer::read(folder / tokenizer_file).and_then([&](auto const& tokenizer) {
            return tokenizer.decode(tokens);
        });
    if (!sample) return tl::unexpected(sample.error());
    return Summary{manifest, *train_split, *held_out_split, *sample};
}

std::string to_text(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return fmt::format("vocabulary {}, tokenizer {}.., seed {}, held out {} of the documents\n",
                       manifest.vocabulary_size, manifest.tokenizer_digest.hex().substr(0, 12),
                       manifest.seed, manifest.held_out_share) +
           fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13}{:>18}\n", "part", "documents",
                       "text bytes", "tokens", "shards", "bytes/token", "unigram nats") +
           split_line("train", manifest.train, summary.train) +
           split_line("heldout", manifest.held_out, summary.held_out) + "begins    " +
           printable(summary.sample) + "\n";
}

json::Object to_json(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return {{"tokenizer", manifest.tokenizer_digest.hex()},
            {"vocabulary", manifest.vocabulary_size},
            {"seed", manifest.seed},
            {"held_out_share", manifest.held_out_share},
            {"train", split_json(manifest.train, summary.train)},
            {"heldout", split_json(manifest.held_out, summary.held_out)}};
}

Result<json::Object> describe_shard(std::filesystem::path const& file)
{
    auto const reader = tensors::TensorReader::open(file);
    if (!reader) return tl::unexpected(reader.error());
    json::Array list;
    for (auto const& tensor : reader->list())
        list.push_back(
            json::Object{{"name", tensor.name},
                         {"dtype", tensors::name_of(tensor.dtype)},
                         {"shape", json::Array(tensor.shape.begin(), tensor.shape.end())}});
    return json::Object{{"file", file.string()},
                        {"attributes", reader->attributes()},
                        {"tensors", std::move(list)}};
}

std::string shard_text(json::Object const& description)
{
    std::string text;
    for (auto const& [name, value] : description.find("attributes")->as_object()->members())
        text += fmt::format(
            "{:<12} {}\n", name,
            value.as_text() != nullptr ? printable(*value.as_text()) : json::to_string(value));
    for (auto const& tensor : *description.find("tensors")->as_array()) {
        auto const& entry = *tensor.as_object();
        text += fmt::format("{:<12} {} {}\n", *entry.find("name")->as_text(),
                            *entry.find("dtype")->as_text(), json::to_string(*entry.find("shape")));
    }
    return text;
}

}  // namespace curtail::data
