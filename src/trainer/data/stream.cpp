// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/stream.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "trainer/data/shards.hpp"

namespace curtail::data {
namespace {

constexpr std::size_t kept_shards = 4;

}  // namespace

TokenStream::TokenStream(std::filesystem::path folder, Split split, Manifest manifest)
    : folder_(std::move(folder)), split_(split), manifest_(std::move(manifest))
{
    std::int64_t end = 0;
    for (auto const& entry : manifest_.split(split_).shards) ends_.push_back(end += entry.tokens);
}

Result<TokenStream> TokenStream::open(std::filesystem::path const& folder, Split split)
{
    return read_manifest(folder).map(
        [&](Manifest manifest) { return TokenStream(folder, split, std::move(manifest)); });
}

Result<std::vector<Token> const*> TokenStream::shard(std::size_t index)
{
    auto const known = std::ranges::find(loaded_, index, &LoadedShard::shard);
    if (known != loaded_.end()) {
        loaded_.splice(loaded_.begin(), loaded_, known);
        return &loaded_.front().tokens;
    }
    auto read = read_shard(folder_, manifest_.split(split_).shards[index],
                           {split_, manifest_.tokenizer_digest, manifest_.vocabulary_size});
    if (!read) return tl::unexpected(read.error());
    if (loaded_.size() == kept_shards) loaded_.pop_back();
    loaded_.push_front({index, std::move(read->tokens)});
    return &loaded_.front().tokens;
}

Result<void> TokenStream::read(std::int64_t offset, std::span<Token> out)
{
    if (offset < 0 || offset + static_cast<std::int64_t>(out.size()) > tokens())
        throw std::out_of_range("tokens beyond the stream's end");
    while (!out.empty()) {
        auto const index =
            static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
        auto const found = shard(index);
        if (!found) return tl::unexpected(found.error());
        auto const begin = index == 0 ? 0 : ends_[index - 1];
        auto const from = std::span(**found).subspan(static_cast<std::size_t>(offset - begin));
        auto const now = from.first(std::min(from.size(), out.size()));
        std::copy(now.begin(), now.end(), out.begin());
        out = out.subspan(now.size());
        offset += static_cast<std::int64_t>(now.size());
    }
    return {};
}

Result<double> unigram_entropy(TokenStream& stream)
{
    std::vector<std::int64_t> counts(static_cast<std::size_t>(max_vocabulary_size));
    std::vector<Token> some(std::size_t{1} << 16);
    for (std::int64_t at = 0; at < stream.tokens();) {
        auto const now = std::span(some).first(static_cast<std::size_t>(
            std::min<std::int64_t>(stream.tokens() - at, std::ssize(some))));
        if (auto read = stream.read(at, now); !read) return tl::unexpected(read.error());
        for (auto const token : now) ++counts[token];
        at += std::ssize(now);
    }
    double entropy = 0;
    for (auto const count : counts)
        if (count > 0) {
            double const p = static_cast<double>(count) / static_cast<double>(stream.tokens());
            entropy -= p * std::log(p);
        }
    return entropy;
}

}  // namespace curtail::data
