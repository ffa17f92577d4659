// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/manifest.hpp"
#include "data/progress.hpp"

namespace curtail::data {

/// What to prepare, and how.
struct PrepareOptions {
    /// Files, or folders of `.txt` files (data/text_files.hpp).
    std::vector<std::filesystem::path> text;
    std::filesystem::path out;            ///< the data folder to create
    std::int64_t vocabulary_size{2'048};  ///< number of tokens of the tokenizer to train
    /// Tokenizer file to use instead of training one.
    std::optional<std::filesystem::path> tokenizer;
    double held_out_share{0.05};  ///< fraction of the documents to hold out
    std::int64_t seed{1};         ///< determines the order of the documents
    /// Number of tokens in a shard. The last shard may have fewer.
    std::int64_t shard_tokens{std::int64_t{1} << 26};
    /// Whether to replace a data folder that is damaged or was prepared from other text or with
    /// other options. A folder with a file that `prepare` did not write is never replaced.
    bool replace{false};
};

/// The outcome of prepare().
struct Prepared {
    Manifest manifest;
    bool up_to_date{false};  ///< the data folder was already as requested and was not changed
};

/// Turns text into a tokenizer, shards and a manifest in the data folder `options.out`. If
/// `options.tokenizer` is empty, trains a tokenizer on the training documents only. Writes into the
/// sibling folder `.<name>.part` first, so that the data folder appears complete or not at all.
/// Fails with `temporary` if another process is preparing the same folder. Fails with
/// `cannot_create` if the folder exists and must not be replaced.
[[nodiscard]] Result<Prepared> prepare(PrepareOptions const& options,
                                       StageCallback const& progress = {});

}  // namespace curtail::data
