// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::config {

/// Shape of the GPT (docs/model.md). Letters: L layers, C width, H heads, D head size, T sequence,
/// V vocabulary.
struct Model {
    std::string name;
    std::int64_t layers{};      ///< L
    std::int64_t width{};       ///< C
    std::int64_t heads{};       ///< H; C = H D
    std::int64_t kv_heads{};    ///< divides H
    std::int64_t sequence{};    ///< T
    std::int64_t vocabulary{};  ///< V; stored padded to a multiple of 64
    [[nodiscard]] std::int64_t head_size() const { return width / heads; }
    [[nodiscard]] std::int64_t padded_vocabulary() const { return (vocabulary + 63) / 64 * 64; }
    [[nodiscard]] std::int64_t parameters() const;
    friend bool operator==(Model const&, Model const&) = default;
};

/// What the reference derives from one number: L = depth, C = 64 depth, and heads of 128 where that
/// divides C.
[[nodiscard]] Model model_of_depth(std::int64_t depth, std::int64_t sequence = 2048,
                                   std::int64_t vocabulary = 65'536);
/// Reads inputs/models/*.json: `depth`, and optionally `sequence`, `vocabulary`, `heads`,
/// `kv_heads`.
[[nodiscard]] Result<Model> read_model(std::filesystem::path const& file);

}  // namespace curtail::config
