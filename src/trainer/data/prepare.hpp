// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "trainer/data/manifest.hpp"
#include "trainer/data/progress.hpp"

namespace curtail::data {

/// What to prepare, and how.
struct PrepareOptions {
    /// Files, or folders of `.txt` files (trainer/data/text_files.hpp).
    std::vector<std::filesystem::path> text;
    std::filesystem::path out;  ///< the data folder to create
    /// Size of the vocabulary to train, special tokens included. Not used if `tokenizer` is set.
    std::int64_t vocabulary_size{2'048};
    /// Tokenizer file to use. If empty, prepare() trains a tokenizer.
    std::optional<std::filesystem::path> tokenizer;
    /// The vocabulary of the model to train: the most tokens that `tokenizer` may have. Empty: any.
    std::optional<std::int64_t> largest_vocabulary{};
    double held_out_share{0.05};  ///< fraction of the documents to hold out
    std::int64_t seed{1};         ///< determines the order of the documents and which are held out
    /// Number of tokens in a shard. The last shard of each split may have fewer.
    std::int64_t shard_tokens{std::int64_t{1} << 26};
    /// Whether to replace `out` if it is damaged or if its manifest has another `inputs_digest`. If
    /// `out` contains files, foreign_content() (trainer/data/output_folder.hpp) must permit the
    /// replacement too.
    bool replace{false};
};

/// The outcome of prepare().
struct PreparedData {
    Manifest manifest;
    bool up_to_date{false};  ///< the data folder was already as requested and was not changed
    std::int64_t left_out_files{0};  ///< as TextFiles::left_out
};

/// Turns text into a tokenizer, shards and a manifest in the data folder `options.out`. If
/// `options.tokenizer` is empty, trains a tokenizer on the training documents only. Writes into the
/// sibling folder `.<name>.part` first, so that the data folder appears complete or not at all.
/// Fails with `config` if `options.tokenizer` has more than `options.largest_vocabulary` tokens.
/// Fails with `temporary` if another process is preparing the same folder. Fails with
/// `cannot_create` if the data folder exists and must not be replaced.
[[nodiscard]] Result<PreparedData> prepare(PrepareOptions const& options,
                                           StageCallback const& progress = {});

}  // namespace curtail::data
