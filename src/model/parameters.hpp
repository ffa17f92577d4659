// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.hpp"

namespace curtail::model {

/// A tensor and its name in files. The tensor is a handle that shares memory with its origin.
struct NamedTensor {
    std::string name;
    at::Tensor tensor;
};

/// Name, shape and position of one parameter in the flat buffer.
struct ParameterPlace {
    std::string name;  ///< as in nanochat's state dict: `transformer.h.3.attn.c_q.weight`
    std::vector<std::int64_t> shape;
    std::int64_t offset{};  ///< of its first element
    [[nodiscard]] std::int64_t numel() const;
};

/// All parameters in order: embedding, blocks (q, k, v, output, fc, projection), head,
/// residual and x0 factors.
[[nodiscard]] std::vector<ParameterPlace> parameter_places(config::Model const& shape);

/// The matrices of one block as views; rows are outputs. C width, D head size, H query heads, K
/// key/value heads.
struct BlockMatrices {
    at::Tensor q;         ///< (H D, C)
    at::Tensor k, v;      ///< (K D, C)
    at::Tensor attn_out;  ///< (C, H D)
    at::Tensor fc;        ///< (4C, C)
    at::Tensor mlp_out;   ///< (C, 4C)
};

/// Weights or gradients of a GPT in one contiguous buffer, with named views into it. Ranks can sum
/// the buffer, and files store it, as a whole. Movable; clone() copies.
class Parameters {
  public:
    /// All zero.
    explicit Parameters(config::Model const& shape, at::ScalarType type = at::kFloat);
    Parameters(Parameters&&) noexcept = default;
    Parameters& operator=(Parameters&&) noexcept = default;
    [[nodiscard]] Parameters clone() const;
    /// Handles to the same weights as leaves of LibTorch's autograd graph. A backward pass adds
    /// their derivatives in place to `gradients`, which must have the same shape and type.
    [[nodiscard]] Parameters leaves(Parameters const& gradients) const;

    [[nodiscard]] config::Model const& shape() const { return shape_; }
    [[nodiscard]] at::Tensor const& flat() const { return flat_; }  ///< (numel)
    [[nodiscard]] std::int64_t numel() const { return flat_.numel(); }
    /// The buffer itself. Throws unless it is float32 on the CPU.
    [[nodiscard]] std::span<float> values();
    [[nodiscard]] std::span<float const> values() const;

    [[nodiscard]] std::vector<NamedTensor> const& named() const { return named_; }  ///< in order
    [[nodiscard]] at::Tensor const& get(std::string_view name) const;  ///< throws if it is missing

    [[nodiscard]] at::Tensor const& embedding() const { return embedding_; }  ///< (padded V, C)
    [[nodiscard]] at::Tensor const& head() const { return head_; }            ///< (padded V, C)
    [[nodiscard]] at::Tensor const& resid_lambdas() const { return resid_; }  ///< (L): a
    [[nodiscard]] at::Tensor const& x0_lambdas() const { return x0_; }        ///< (L): b
    [[nodiscard]] BlockMatrices const& block(std::int64_t layer) const
    {
        return blocks_.at(static_cast<std::size_t>(layer));
    }

  private:
    Parameters(config::Model const& shape, at::Tensor const& flat);
    Parameters(config::Model const& shape, at::Tensor flat, std::vector<NamedTensor> named);

    config::Model shape_;
    at::Tensor flat_;
    std::vector<NamedTensor> named_;
    std::vector<BlockMatrices> blocks_;
    at::Tensor embedding_, head_, resid_, x0_;
};

}  // namespace curtail::model
