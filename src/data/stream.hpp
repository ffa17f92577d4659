// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <list>
#include <span>
#include <vector>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {

/// One split of a data folder as one long sequence of tokens, shard after shard. Keeps the four
/// most recently used shards in memory. Reads and verifies a shard when it is needed and not in
/// memory. Not thread-safe.
class TokenStream {
  public:
    /// Reads the manifest of the data folder `folder`. Fails with `no_input` if it is missing and
    /// with `data` if it is damaged.
    [[nodiscard]] static Result<TokenStream> open(std::filesystem::path const& folder, Split split);

    /// Returns the number of tokens in the stream.
    [[nodiscard]] std::int64_t tokens() const { return manifest_.split(split_).tokens; }
    [[nodiscard]] Manifest const& manifest() const { return manifest_; }
    /// Reads out.size() tokens, from token `offset` of the stream on, into `out`. Throws
    /// std::out_of_range if the stream does not have them. Fails with `data` if a shard is damaged
    /// and with `no_input` if it is missing.
    [[nodiscard]] Result<void> read(std::int64_t offset, std::span<Token> out);

  private:
    struct Loaded {
        std::size_t shard;
        std::vector<Token> tokens;
    };
    TokenStream(std::filesystem::path folder, Split split, Manifest manifest);
    [[nodiscard]] Result<std::vector<Token> const*> shard(std::size_t index);

    std::filesystem::path folder_;
    Split split_;
    Manifest manifest_;
    std::vector<std::int64_t> ends_;  ///< position in the stream after the last token of each shard
    std::list<Loaded> loaded_;        ///< cached shards, most recently used first
};

/// Returns the entropy of the stream's distribution of single tokens, in nats. It is the loss of a
/// model that knows only the frequency of each token. Reads the whole stream.
[[nodiscard]] Result<double> unigram_entropy(TokenStream& stream);

}  // namespace curtail::data
