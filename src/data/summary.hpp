// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "data/manifest.hpp"

namespace curtail::data {

/// What a person wants to know about one part.
struct PartSummary {
    std::int64_t documents{0};
    std::int64_t text_bytes{0};
    std::int64_t tokens{0};
    std::int64_t shards{0};
    double bytes_per_token{0};
    double unigram_entropy{0};  ///< nats per token
};

struct Summary {
    Manifest manifest;
    PartSummary train;
    PartSummary held_out;
    std::string sample;  ///< how the first training document begins
};

/// Reads a prepared folder, every shard of it.
[[nodiscard]] Result<Summary> summarize(std::filesystem::path const& folder);
[[nodiscard]] std::string to_text(Summary const& summary);
[[nodiscard]] json::Object to_json(Summary const& summary);

/// Attributes and tensors of one shard (or any tensor file), whose content is checked against its
/// own digest.
[[nodiscard]] Result<json::Object> describe_shard(std::filesystem::path const& file);
[[nodiscard]] std::string shard_text(json::Object const& description);

}  // namespace curtail::data
