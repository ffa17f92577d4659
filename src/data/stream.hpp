// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <list>
#include <span>
#include <vector>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {

/// One part of a prepared folder as one long sequence of tokens, shard after shard. Reads and
/// verifies a shard on first use and caches the last few. One per process; not thread-safe.
class TokenStream {
  public:
    [[nodiscard]] static Result<TokenStream> open(std::filesystem::path const& folder, Part part);

    [[nodiscard]] std::int64_t tokens() const { return manifest_.part(part_).tokens; }
    [[nodiscard]] Manifest const& manifest() const { return manifest_; }
    /// Reads tokens [offset, offset + out.size()) into `out`. Throws if they lie beyond the stream;
    /// fails on a bad shard.
    [[nodiscard]] Result<void> read(std::int64_t offset, std::span<Token> out);

  private:
    struct Loaded {
        std::size_t shard;
        std::vector<Token> tokens;
    };
    TokenStream(std::filesystem::path folder, Part part, Manifest manifest);
    [[nodiscard]] Result<std::vector<Token> const*> shard(std::size_t index);

    std::filesystem::path folder_;
    Part part_;
    Manifest manifest_;
    std::vector<std::int64_t> ends_;  ///< of each shard, in tokens of the stream
    std::list<Loaded> loaded_;        ///< most recently used first
};

/// Entropy of the distribution of single tokens in nats: the loss of a model that only knows the
/// frequency of each token.
[[nodiscard]] Result<double> unigram_entropy(TokenStream& stream);

}  // namespace curtail::data
