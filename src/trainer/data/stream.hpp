// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <list>
#include <span>
#include <vector>

#include "trainer/data/manifest.hpp"
#include "trainer/data/tokenizer.hpp"

namespace curtail::data {

/// One split of a data folder as one long sequence of tokens, shard after shard. The glossary's
/// stream differs: it consists of blocks and repeats the split in every epoch. Keeps the four most
/// recently used shards in memory. Reads and verifies a shard when it is needed and not in memory.
/// Not thread-safe.
class TokenStream {
  public:
    /// Reads the manifest of the data folder `folder`. Fails with `no_input` if the manifest is
    /// missing and with `data` if the manifest is damaged.
    [[nodiscard]] static Result<TokenStream> open(std::filesystem::path const& folder, Split split);

    /// Returns the number of tokens in the split.
    [[nodiscard]] std::int64_t tokens() const { return manifest_.split(split_).tokens; }
    [[nodiscard]] Manifest const& manifest() const { return manifest_; }
    /// Reads out.size() tokens, from token `offset` of the split on, into `out`. Throws
    /// std::out_of_range if the split does not have all these tokens. Fails with `data` if a shard
    /// is damaged and with `no_input` if a shard is missing.
    [[nodiscard]] Result<void> read(std::int64_t offset, std::span<Token> out);

  private:
    struct LoadedShard {
        std::size_t shard;
        std::vector<Token> tokens;
    };
    TokenStream(std::filesystem::path folder, Split split, Manifest manifest);
    [[nodiscard]] Result<std::vector<Token> const*> shard(std::size_t index);

    std::filesystem::path folder_;
    Split split_;
    Manifest manifest_;
    /// For each shard: its number of tokens plus those of all earlier shards.
    std::vector<std::int64_t> ends_;
    std::list<LoadedShard> loaded_;  ///< cached shards, most recently used first
};

/// Returns the entropy of the frequencies of the split's tokens, in nats per token. A model that
/// knows only the frequency of each token has this loss. Reads the whole split.
[[nodiscard]] Result<double> unigram_entropy(TokenStream& stream);

}  // namespace curtail::data
