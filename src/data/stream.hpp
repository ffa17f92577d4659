// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <list>
#include <span>
#include <vector>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {

/// One part of a prepared folder as one long sequence of tokens, shard after shard. Reads lazily: a
/// shard is fetched and its digest compared when a token of it is first wanted, and the last few
/// are kept in memory. One per process; not for several threads.
class TokenStream {
  public:
    [[nodiscard]] static Result<TokenStream> open(std::filesystem::path const& folder, Part part);

    [[nodiscard]] std::int64_t tokens() const { return manifest_.part(part_).tokens; }
    [[nodiscard]] Manifest const& manifest() const { return manifest_; }
    /// Tokens [offset, offset + out.size()) into `out`. Throws if they are not all there; an Error
    /// is a bad shard.
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

/// Entropy of the distribution of single tokens in a part, in nats: the loss of a model that knows
/// only how frequent each token is.
[[nodiscard]] Result<double> unigram_entropy(TokenStream& stream);

}  // namespace curtail::data
