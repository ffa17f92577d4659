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
    SplitSummary summary{
        split.documents, split.text_bytes, split.tokens, std::ssize(split.shards), 0, 0};
    if (split.tokens == 0) return summary;
    auto const entropy = unigram_entropy(stream);
    if (!entropy) return tl::unexpected(entropy.error());
    summary.unigram_entropy = *entropy;
    summary.bytes_per_token =
        static_cast<double>(split.text_bytes) / static_cast<double>(split.tokens);
    return summary;
}

Result<std::string> sample_of(std::filesystem::path const& folder, TokenStream& stream)
{
    std::vector<Token> tokens(static_cast<std::size_t>(std::min(sample_tokens, stream.tokens())));
    if (auto read = stream.read(0, tokens); !read) return tl::unexpected(read.error());
    return Tokenizer::read(folder / tokenizer_file).and_then([&](Tokenizer const& tokenizer) {
        return tokenizer.decode(tokens);
    });
}

std::string split_line(char const* name, SplitSummary const& split)
{
    return fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13.3f}{:>18.4f}\n", name, split.documents,
                       split.text_bytes, split.tokens, split.shards, split.bytes_per_token,
                       split.unigram_entropy);
}

json::Object split_json(SplitSummary const& split)
{
    return {{"documents", split.documents},
            {"text_bytes", split.text_bytes},
            {"tokens", split.tokens},
            {"shards", split.shards},
            {"bytes_per_token", split.bytes_per_token},
            {"unigram_entropy_nats", split.unigram_entropy}};
}

}  // namespace

Result<Summary> summarize(std::filesystem::path const& folder)
{
    auto train = TokenStream::open(folder, Split::train);
    if (!train) return tl::unexpected(train.error());
    auto held_out = TokenStream::open(folder, Split::held_out);
    if (!held_out) return tl::unexpected(held_out.error());
    Summary summary{train->manifest(), {}, {}, {}};
    auto const train_split = summarize_split(*train, summary.manifest.train);
    if (!train_split) return tl::unexpected(train_split.error());
    auto const held_out_split = summarize_split(*held_out, summary.manifest.held_out);
    if (!held_out_split) return tl::unexpected(held_out_split.error());
    auto const sample = sample_of(folder, *train);
    if (!sample) return tl::unexpected(sample.error());
    summary.train = *train_split;
    summary.held_out = *held_out_split;
    summary.sample = *sample;
    return summary;
}

std::string to_text(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return fmt::format("vocabulary {}, tokenizer {}.., seed {}, held out {} of the documents\n",
                       manifest.vocabulary_size, manifest.tokenizer_digest.hex().substr(0, 12),
                       manifest.seed, manifest.held_out_share) +
           fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13}{:>18}\n", "part", "documents",
                       "text bytes", "tokens", "shards", "bytes/token", "unigram nats") +
           split_line("train", summary.train) + split_line("heldout", summary.held_out) +
           "begins    " + printable(summary.sample) + "\n";
}

json::Object to_json(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return {{"tokenizer", manifest.tokenizer_digest.hex()},
            {"vocabulary", manifest.vocabulary_size},
            {"seed", manifest.seed},
            {"held_out_share", manifest.held_out_share},
            {"train", split_json(summary.train)},
            {"heldout", split_json(summary.held_out)}};
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
