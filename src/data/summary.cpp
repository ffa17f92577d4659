// SPDX-License-Identifier: Apache-2.0
#include "data/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.hpp"
#include "data/stream.hpp"
#include "tensors/reader.hpp"

namespace curtail::data {
namespace {

constexpr std::int64_t sample_tokens = 48;

Result<PartSummary> summarize_part(TokenStream& stream, PartEntry const& part)
{
    PartSummary summary{
        part.documents, part.text_bytes, part.tokens, std::ssize(part.shards), 0, 0};
    if (part.tokens == 0) return summary;
    auto const entropy = unigram_entropy(stream);
    if (!entropy) return tl::unexpected(entropy.error());
    summary.unigram_entropy = *entropy;
    summary.bytes_per_token =
        static_cast<double>(part.text_bytes) / static_cast<double>(part.tokens);
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

std::string part_line(char const* name, PartSummary const& part)
{
    return fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13.3f}{:>18.4f}\n", name, part.documents,
                       part.text_bytes, part.tokens, part.shards, part.bytes_per_token,
                       part.unigram_entropy);
}

json::Object part_json(PartSummary const& part)
{
    return {{"documents", part.documents},
            {"text_bytes", part.text_bytes},
            {"tokens", part.tokens},
            {"shards", part.shards},
            {"bytes_per_token", part.bytes_per_token},
            {"unigram_entropy_nats", part.unigram_entropy}};
}

}  // namespace

Result<Summary> summarize(std::filesystem::path const& folder)
{
    auto train = TokenStream::open(folder, Part::train);
    if (!train) return tl::unexpected(train.error());
    auto held_out = TokenStream::open(folder, Part::held_out);
    if (!held_out) return tl::unexpected(held_out.error());
    Summary summary{train->manifest(), {}, {}, {}};
    auto const train_part = summarize_part(*train, summary.manifest.train);
    if (!train_part) return tl::unexpected(train_part.error());
    auto const held_out_part = summarize_part(*held_out, summary.manifest.held_out);
    if (!held_out_part) return tl::unexpected(held_out_part.error());
    auto const sample = sample_of(folder, *train);
    if (!sample) return tl::unexpected(sample.error());
    summary.train = *train_part;
    summary.held_out = *held_out_part;
    summary.sample = *sample;
    return summary;
}

std::string to_text(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return fmt::format("vocabulary {}, tokenizer {}.., seed {}, held out {} of the documents\n",
                       manifest.vocabulary, manifest.tokenizer.hex().substr(0, 12), manifest.seed,
                       manifest.held_out_share) +
           fmt::format("{:<9}{:>10}{:>14}{:>14}{:>8}{:>13}{:>18}\n", "part", "documents",
                       "text bytes", "tokens", "shards", "bytes/token", "unigram nats") +
           part_line("train", summary.train) + part_line("heldout", summary.held_out) +
           "begins    " + printable(summary.sample) + "\n";
}

json::Object to_json(Summary const& summary)
{
    auto const& manifest = summary.manifest;
    return {{"tokenizer", manifest.tokenizer.hex()},
            {"vocabulary", manifest.vocabulary},
            {"seed", manifest.seed},
            {"held_out_share", manifest.held_out_share},
            {"train", part_json(summary.train)},
            {"heldout", part_json(summary.held_out)}};
}

Result<json::Object> describe_file(std::filesystem::path const& file)
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

std::string contents_text(json::Object const& description)
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
