// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/json.hpp"
#include "base/core/result.hpp"

namespace curtail::data {

/// What the manifest records about one shard.
struct ShardEntry {
    std::string file;  ///< name in the data folder, for example `train-00000.h5`
    Digest sha256;     ///< SHA-256 of the file
    std::int64_t tokens{0};
    std::int64_t documents{0};  ///< documents whose first token is in this shard
    friend bool operator==(ShardEntry const&, ShardEntry const&) = default;
};

/// The two splits of the data: text to train on and text to evaluate on.
enum class Split { train, held_out };
/// Returns "train" or "heldout", with which the names of the split's shards begin.
[[nodiscard]] char const* name_of(Split split);

/// What the manifest records about one split of the data.
struct SplitEntry {
    std::int64_t tokens{0};  ///< including one <|bos|> per document
    std::int64_t documents{0};
    std::int64_t text_bytes{0};
    /// In order: the first token of the split is the first token of shards[0].
    std::vector<ShardEntry> shards;
    friend bool operator==(SplitEntry const&, SplitEntry const&) = default;
};

/// Describes a data folder, that is, a folder written by `curtail-data prepare`
/// (docs/formats-data.md). Stored as manifest.json.
struct Manifest {
    Digest inputs_digest;  ///< digest of the text and of every option of `prepare` that affects the
                           ///< output
    Digest tokenizer_digest;          ///< SHA-256 of the tokenizer file
    std::int64_t vocabulary_size{0};  ///< number of token ids, special tokens included
    std::int64_t seed{0};      ///< determines the order of the documents and which are held out
    double held_out_share{0};  ///< fraction of the documents to hold out; at least 0, below 1
    SplitEntry train;
    SplitEntry held_out;

    [[nodiscard]] SplitEntry const& split(Split which) const
    {
        return which == Split::train ? train : held_out;
    }
    [[nodiscard]] json::Object to_json() const;
    friend bool operator==(Manifest const&, Manifest const&) = default;
};

inline constexpr char const* manifest_file = "manifest.json";
inline constexpr char const* tokenizer_file = "tokenizer.tiktoken";
inline constexpr char const* manifest_format = "curtail-data-1";

/// Reads the manifest of a data folder. Fails with `no_input` if the manifest is missing and with
/// `data` if the manifest is damaged.
[[nodiscard]] Result<Manifest> read_manifest(std::filesystem::path const& folder);
/// Decodes the contents of manifest.json. `source` names the file in error messages.
[[nodiscard]] Result<Manifest> parse_manifest(json::Value const& value, std::string const& source);
/// Returns the SHA-256 of the manifest file of a data folder. This digest identifies the data of a
/// run.
[[nodiscard]] Result<Digest> manifest_digest(std::filesystem::path const& folder);

/// Returns an error text such as "digest differs (expected 3f.., found 91..)".
[[nodiscard]] std::string digest_mismatch(Digest const& expected, Digest const& found);

}  // namespace curtail::data
