// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

/// Token shards: HDF5 files of consecutive tokens (docs/formats-data.md).
namespace curtail::data {

/// What a shard holds besides its tokens.
struct ShardLabel {
    Part part{};
    Digest tokenizer;
    std::int64_t vocabulary{0};
};

struct Shard {
    std::vector<Token> tokens;
    std::vector<std::int64_t>
        documents;  ///< where a document begins, counted from the shard's first token; rising
};

/// Writes `shard` as `folder/file` and answers its entry for the manifest.
[[nodiscard]] Result<ShardEntry> write_shard(std::filesystem::path const& folder,
                                             std::string const& file, Shard const& shard,
                                             ShardLabel const& label);
/// Reads a shard, after its digest was compared with `entry`: never anything but what the manifest
/// names. Code `data`.
[[nodiscard]] Result<Shard> read_shard(std::filesystem::path const& folder, ShardEntry const& entry,
                                       ShardLabel const& label);

/// Cuts a part's tokens into shards as they come and writes each when it is full.
class ShardWriter {
  public:
    /// Files go to `folder`, `shard_tokens` tokens in each but the last.
    ShardWriter(std::filesystem::path folder, ShardLabel label, std::int64_t shard_tokens)
        : folder_(std::move(folder)), label_(label), shard_tokens_(shard_tokens)
    {
    }
    /// Adds one document, `tokens` beginning with <|bos|>, made from `text_bytes` bytes.
    [[nodiscard]] Result<void> add(std::span<Token const> tokens, std::int64_t text_bytes);
    [[nodiscard]] Result<PartEntry> finish();  ///< once

  private:
    [[nodiscard]] Result<void> flush();
    std::filesystem::path folder_;
    ShardLabel label_;
    std::int64_t shard_tokens_;
    Shard open_;
    PartEntry done_;
};

/// A file of a prepared folder that is not what the manifest names.
struct BadFile {
    std::string file;
    std::string why;
    friend bool operator==(BadFile const&, BadFile const&) = default;
};

/// What a look at all files of a prepared folder found.
struct Verification {
    Manifest manifest;
    std::vector<BadFile> bad;  ///< tokenizer first, then shards in stream order
    [[nodiscard]] bool good() const { return bad.empty(); }
};

/// Compares tokenizer and every shard with their digests and reads them; goes on behind a bad one.
/// `report` counts shards. Failure: there is no manifest, or none that can be read.
[[nodiscard]] Result<Verification> verify(std::filesystem::path const& folder,
                                          Report const& report = {});

}  // namespace curtail::data
