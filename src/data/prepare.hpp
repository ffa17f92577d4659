// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/manifest.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {

struct PrepareOptions {
    std::vector<std::filesystem::path> text;
    std::filesystem::path out;
    std::int64_t vocabulary{2'048};                  ///< of the tokenizer to train
    std::optional<std::filesystem::path> tokenizer;  ///< this rank file instead
    double held_out{0.05};                           ///< share of the documents
    std::int64_t seed{1};                            ///< of the documents' order
    std::int64_t shard_tokens{std::int64_t{1} << 26};
    bool replace{false};  ///< a folder prepared from other text or options, or a damaged one, goes;
                          ///< never one that holds anything else
};

struct Prepared {
    Manifest manifest;
    bool was_there{false};  ///< the folder already held exactly this
};

/// Stage ("training the tokenizer", ...), how far it is, and of how much.
using StageReport = std::function<void(std::string const& stage, double done, double whole)>;

/// Puts the folder `part` in the place of `out`, if there is one. On failure `out` stays as it was;
/// a crash half way leaves it as `old`.
[[nodiscard]] Result<void> put_in_place(std::filesystem::path const& part,
                                        std::filesystem::path const& out,
                                        std::filesystem::path const& old);

/// Text -> tokenizer, shards and manifest in `options.out`, which appears whole or not at all: work
/// goes on in `.<name>.part` beside it. The tokenizer is trained on the training documents only.
/// `temporary` if another process prepares the same folder.
[[nodiscard]] Result<Prepared> prepare(PrepareOptions const& options,
                                       StageReport const& report = {});

}  // namespace curtail::data
