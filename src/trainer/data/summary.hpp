// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "trainer/data/manifest.hpp"

namespace curtail::data {

/// Key figures of one split of the data, besides those of the manifest.
struct SplitSummary {
    double bytes_per_token{0};
    double unigram_entropy{0};  ///< see trainer/data/stream.hpp; nats per token
};

/// Key figures of a data folder.
struct Summary {
    Manifest manifest;
    SplitSummary train;
    SplitSummary held_out;
    std::string sample;  ///< text of the first 48 training tokens
};

/// Summarizes the data folder `folder`. Reads every shard.
[[nodiscard]] Result<Summary> summarize(std::filesystem::path const& folder);
[[nodiscard]] std::string to_text(Summary const& summary);
[[nodiscard]] json::Object to_json(Summary const& summary);

/// Returns the attributes of a shard (or of another tensor file), and the names, types and shapes
/// of its tensors. If the file stores a digest of its contents, first checks this digest.
[[nodiscard]] Result<json::Object> describe_shard(std::filesystem::path const& file);
/// Returns a description from describe_shard() as lines of text.
[[nodiscard]] std::string shard_text(json::Object const& description);

}  // namespace curtail::data
