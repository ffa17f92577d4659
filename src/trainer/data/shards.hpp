// SPDX-License-Identifier: Apache-2.0
#pragma once

// Token shards: HDF5 files of consecutive tokens (docs/formats-data.md).

#include <span>

#include "trainer/data/manifest.hpp"
#include "trainer/data/tokenizer.hpp"

namespace curtail::data {

/// The attributes that a shard file carries.
struct ShardLabel {
    Split split{};
    Digest tokenizer_digest;          ///< SHA-256 of the tokenizer file
    std::int64_t vocabulary_size{0};  ///< number of token ids, special tokens included
};

/// The contents of a shard file.
struct Shard {
    std::vector<Token> tokens;
    /// Index in `tokens` of the first token of each document; strictly increasing. A document that
    /// began in an earlier shard is not listed.
    std::vector<std::int64_t> documents;
};

/// Writes `shard` as the file `folder/file` and returns its entry for the manifest.
[[nodiscard]] Result<ShardEntry> write_shard(std::filesystem::path const& folder,
                                             std::string const& file, Shard const& shard,
                                             ShardLabel const& label);
/// Reads from the data folder `folder` the shard that `entry` describes. First compares the digest
/// of the file with `entry`, then the contents with `entry` and `label`. Fails with `data` if a
/// comparison shows a difference, and with `no_input` if the file is missing.
[[nodiscard]] Result<Shard> read_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                                       ShardLabel const& label);

/// Distributes the tokens of one split of the data over shards, and writes each shard once it is
/// full.
class ShardWriter {
  public:
    /// Writes into `folder`. Each shard has `shard_tokens` tokens; the last one may have fewer.
    ShardWriter(std::filesystem::path folder, ShardLabel label, std::int64_t shard_tokens)
        : folder_(std::move(folder)), label_(label), shard_tokens_(shard_tokens)
    {
    }
    /// Adds a document. `tokens` must start with <|bos|>; `text_bytes` is the size of the
    /// document's text.
    [[nodiscard]] Result<void> add(std::span<Token const> tokens, std::int64_t text_bytes);
    /// Writes the last shard. Returns what the manifest records about the split. Call this function
    /// once, after the last add().
    [[nodiscard]] Result<SplitEntry> finish();

  private:
    [[nodiscard]] Result<void> flush();
    std::filesystem::path folder_;
    ShardLabel label_;
    std::int64_t shard_tokens_;
    Shard open_;
    SplitEntry done_;
};

}  // namespace curtail::data
