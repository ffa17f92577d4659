// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/manifest.hpp"
#include "data/progress.hpp"

namespace curtail::data {

struct PrepareOptions {
    std::vector<std::filesystem::path> text;
    std::filesystem::path out;
    std::int64_t vocabulary{2'048};                  ///< of the tokenizer to train
    std::optional<std::filesystem::path> tokenizer;  ///< rank file to use instead of training
    double held_out{0.05};                           ///< share of the documents
    std::int64_t seed{1};                            ///< of the documents' order
    std::int64_t shard_tokens{std::int64_t{1} << 26};
    /// Replace a damaged folder or one prepared from different text or options. Never replaces a
    /// folder that holds other files.
    bool replace{false};
};

struct Prepared {
    Manifest manifest;
    bool up_to_date{false};  ///< the folder already held exactly this
};

/// Turns text into tokenizer, shards and manifest in `options.out`, which appears complete or not
/// at all: the work happens in its sibling `.<name>.part`. Trains the tokenizer on the training
/// documents only. Fails with `temporary` if another process prepares the same folder.
[[nodiscard]] Result<Prepared> prepare(PrepareOptions const& options,
                                       StageCallback const& progress = {});

}  // namespace curtail::data
