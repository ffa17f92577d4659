// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/digest.hpp"
#include "core/json.hpp"
#include "core/result.hpp"

namespace curtail::data {

/// A shard in the manifest.
struct ShardEntry {
    std::string file;  ///< `train-00000.h5`, in the manifest's folder
    Digest sha256;     ///< of the file
    std::int64_t tokens{0};
    std::int64_t documents{0};  ///< that begin in it
    friend bool operator==(ShardEntry const&, ShardEntry const&) = default;
};

enum class Part { train, held_out };
/// "train" or "heldout"; the names of the part's shards start with it.
[[nodiscard]] char const* name_of(Part part);

/// A part of the text in the manifest.
struct PartEntry {
    std::int64_t tokens{0};  ///< including one <|bos|> per document
    std::int64_t documents{0};
    std::int64_t text_bytes{0};
    std::vector<ShardEntry> shards;  ///< in stream order
    friend bool operator==(PartEntry const&, PartEntry const&) = default;
};

/// The contents of a prepared folder (manifest.json; docs/formats-data.md).
struct Manifest {
    Digest inputs;  ///< of the text and of every option that affects the result
    Digest tokenizer;
    std::int64_t vocabulary{0};  ///< including special tokens
    std::int64_t seed{0};
    double held_out_share{0};
    PartEntry train;
    PartEntry held_out;

    [[nodiscard]] PartEntry const& part(Part which) const
    {
        return which == Part::train ? train : held_out;
    }
    [[nodiscard]] json::Object to_json() const;
    friend bool operator==(Manifest const&, Manifest const&) = default;
};

inline constexpr char const* manifest_file = "manifest.json";
inline constexpr char const* tokenizer_file = "tokenizer.tiktoken";
inline constexpr char const* manifest_format = "curtail-data-1";

/// Reads the manifest of a prepared folder. Fails with `no_input` if it is missing and with `data`
/// if it is damaged.
[[nodiscard]] Result<Manifest> read_manifest(std::filesystem::path const& folder);
[[nodiscard]] Result<Manifest> parse_manifest(json::Value const& value, std::string const& source);
/// Digest of the manifest file. It identifies the data of a run.
[[nodiscard]] Result<Digest> manifest_digest(std::filesystem::path const& folder);

/// "digest differs (expected 3f.., found 91..)"
[[nodiscard]] std::string digest_mismatch(Digest const& expected, Digest const& found);

}  // namespace curtail::data
