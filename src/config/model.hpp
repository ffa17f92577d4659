// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::config {

/// Shape of the GPT (docs/model.md): L layers, C width, H heads, D head size, T sequence length,
/// V vocabulary size.
struct Model {
    std::string name;
    std::int64_t layers{};      ///< L
    std::int64_t width{};       ///< C
    std::int64_t heads{};       ///< H; C = H D
    std::int64_t kv_heads{};    ///< a divisor of H
    std::int64_t sequence{};    ///< T
    std::int64_t vocabulary{};  ///< V; weights are padded to a multiple of 64
    [[nodiscard]] std::int64_t head_size() const { return width / heads; }
    [[nodiscard]] std::int64_t padded_vocabulary() const { return (vocabulary + 63) / 64 * 64; }
    [[nodiscard]] std::int64_t parameters() const;
    friend bool operator==(Model const&, Model const&) = default;
};

/// The reference's shape for one number: L = depth, C = 64 depth, and D = 128 where 128 divides C.
[[nodiscard]] Model model_of_depth(std::int64_t depth, std::int64_t sequence = 2048,
                                   std::int64_t vocabulary = 65'536);
/// Reads a model file, such as inputs/models/d20.json. Codes `config` and `no_input`.
[[nodiscard]] Result<Model> read_model(std::filesystem::path const& file);

}  // namespace curtail::config
