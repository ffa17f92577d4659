// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.hpp"
#include "run/config/read.hpp"

namespace curtail::config {

/// The shape of a GPT model. L, C, H, T and V are the letters of docs/model.md. D = C / H is the
/// size of an attention head.
struct Model {
    std::string name;
    std::int64_t layers{};      ///< L
    std::int64_t width{};       ///< C; a multiple of `heads`
    std::int64_t heads{};       ///< H, the number of query heads
    std::int64_t kv_heads{};    ///< number of key-value heads, a divisor of H
    std::int64_t sequence{};    ///< T, the number of tokens in a row
    std::int64_t vocabulary{};  ///< V, the number of different tokens
    [[nodiscard]] std::int64_t head_size() const { return width / heads; }
    /// Returns the number of rows of the embedding E and of W_head: V, rounded up to a multiple
    /// of 64.
    [[nodiscard]] std::int64_t padded_vocabulary() const { return (vocabulary + 63) / 64 * 64; }
    /// Returns the number of all parameters. This includes the padding rows of E and W_head.
    [[nodiscard]] std::int64_t parameters() const;
    /// Returns the number of floating-point operations per token in the forward and backward pass:
    /// 6 per parameter that enters a matrix product, and 12 L C T for attention (arXiv:2204.02311,
    /// appendix B).
    [[nodiscard]] double flops_per_token() const;
    friend bool operator==(Model const&, Model const&) = default;
};

/// A rule that a model breaks.
struct BrokenRule {
    std::string key;  ///< of the model file
    std::string rule;
};
/// Returns the first rule for model files that the shape breaks. Empty: it is valid.
[[nodiscard]] std::optional<BrokenRule> broken_rule(Model const& model);

/// Returns the shape that nanochat gives to a model of `depth` layers: L is `depth`, and C is 64
/// times `depth`. C / 128 is rounded to an integer, half to even. H is the divisor of C nearest to
/// this integer; if two are equally near, the larger. The number of key-value heads is H, too.
[[nodiscard]] Model model_of_depth(std::int64_t depth, std::int64_t sequence = 2048,
                                   std::int64_t vocabulary = 65'536);
/// Reads a model file, such as inputs/models/d20.json, and adds it to `files`. Fails with `config`
/// if the file is invalid, or with `no_input` if it is missing.
[[nodiscard]] Result<Model> read_model(std::filesystem::path const& file,
                                       std::vector<SettingsFile>& files);

}  // namespace curtail::config
