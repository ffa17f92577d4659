// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

/// Token shards: HDF5 files of consecutive tokens (docs/formats-data.md).
namespace curtail::data {

/// The attributes of a shard.
struct ShardLabel {
    Part part{};
    Digest tokenizer;
    std::int64_t vocabulary{0};
};

struct Shard {
    std::vector<Token> tokens;
    /// Where each document begins, counted from the shard's first token; strictly increasing.
    std::vector<std::int64_t> documents;
};

/// Writes `shard` as `folder/file` and returns its entry for the manifest.
[[nodiscard]] Result<ShardEntry> write_shard(std::filesystem::path const& folder,
                                             std::string const& file, Shard const& shard,
                                             ShardLabel const& label);
/// Reads a shard and checks it against `entry` and `label`, its digest first. Fails with `data` if
/// they differ and with `no_input` if the file is missing.
[[nodiscard]] Result<Shard> read_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                                       ShardLabel const& label);

/// Cuts the tokens of a part into shards and writes each one once it is full.
class ShardWriter {
  public:
    /// Writes into `folder`, `shard_tokens` tokens per shard; the last one may have fewer.
    ShardWriter(std::filesystem::path folder, ShardLabel label, std::int64_t shard_tokens)
        : folder_(std::move(folder)), label_(label), shard_tokens_(shard_tokens)
    {
    }
    /// Adds a document of `text_bytes` bytes; `tokens` must start with <|bos|>.
    [[nodiscard]] Result<void> add(std::span<Token const> tokens, std::int64_t text_bytes);
    [[nodiscard]] Result<PartEntry> finish();  ///< call once

  private:
    [[nodiscard]] Result<void> flush();
    std::filesystem::path folder_;
    ShardLabel label_;
    std::int64_t shard_tokens_;
    Shard open_;
    PartEntry done_;
};

}  // namespace curtail::data
