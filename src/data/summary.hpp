// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "data/manifest.hpp"

namespace curtail::data {

/// Key figures of one part.
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
    std::string sample;  ///< the beginning of the first training document
};

/// Summarizes a prepared folder. Reads every shard.
[[nodiscard]] Result<Summary> summarize(std::filesystem::path const& folder);
[[nodiscard]] std::string to_text(Summary const& summary);
[[nodiscard]] json::Object to_json(Summary const& summary);

/// Attributes and tensors of a shard (or any tensor file), after a check of its content digest.
[[nodiscard]] Result<json::Object> describe_file(std::filesystem::path const& file);
[[nodiscard]] std::string contents_text(json::Object const& description);

}  // namespace curtail::data
