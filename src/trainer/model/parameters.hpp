// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/config/model.hpp"

namespace curtail::model {

/// A tensor and its name in files. A NamedTensor shares its memory with the tensor from which it
/// was made.
struct NamedTensor {
    std::string name;
    at::Tensor tensor;
};

/// Name, shape and position of one parameter in the buffer of Parameters.
struct ParameterPlace {
    std::string name;  ///< name in nanochat's state dict, as in `transformer.h.3.attn.c_q.weight`
    std::vector<std::int64_t> shape;
    std::int64_t offset{};                     ///< index of its first element in the buffer
    [[nodiscard]] std::int64_t numel() const;  ///< number of elements
};

/// Returns the places of all parameters in order: embedding, the matrices of each layer, head,
/// resid_lambdas, x0_lambdas.
[[nodiscard]] std::vector<ParameterPlace> parameter_places(config::Model const& shape);

/// The matrices of one layer, in the order of the buffer, whose memory they share. Each row of a
/// matrix gives one output. C is the width and D the size of a head. H is the number of query heads
/// and K the number of key/value heads.
struct BlockMatrices {
    at::Tensor qkv;       ///< q, k and v as one matrix: ((H + 2 K) D, C)
    at::Tensor attn_out;  ///< (C, H D)
    at::Tensor fc;        ///< (4C, C)
    at::Tensor mlp_out;   ///< (C, 4C)
};

/// The weights or gradients of a GPT in one contiguous buffer, with named tensors that share its
/// memory. One call can therefore sum or store all values. The buffer may have any floating-point
/// type and be on any device. Movable; clone() and to() make copies.
class Parameters {
  public:
    /// Sets all values to zero. `options` gives the type and the device of the buffer.
    explicit Parameters(config::Model const& shape, at::TensorOptions options = at::kFloat);
    Parameters(Parameters&&) noexcept = default;
    Parameters& operator=(Parameters&&) noexcept = default;
    /// Returns a copy with its own buffer.
    [[nodiscard]] Parameters clone() const;
    /// Returns a copy with its own buffer of this type on this device. Rounds the values to the
    /// nearest, half to even.
    [[nodiscard]] Parameters to(c10::Device device, at::ScalarType type) const;

    [[nodiscard]] config::Model const& shape() const { return shape_; }
    /// Returns the buffer as a tensor of one dimension.
    [[nodiscard]] at::Tensor const& flat() const { return flat_; }
    /// Returns the resid_lambdas and x0_lambdas in the type in which the model uses them,
    /// type_of_sums(): (2, L). In a buffer of that type, they are its last elements. A buffer of
    /// bfloat16 has too few digits for numbers near 1, so this is then another tensor.
    [[nodiscard]] at::Tensor const& scalars() const { return scalars_; }
    /// Returns the elements [offset, offset + count) of the buffer, or those of scalars(). They
    /// must belong to one parameter.
    [[nodiscard]] at::Tensor range(std::int64_t offset, std::int64_t count) const;
    /// Replaces the elements that begin at `offset` by `values`, in the buffer and in scalars().
    void set(std::int64_t offset, at::Tensor const& values) const;
    /// Returns the number of elements.
    [[nodiscard]] std::int64_t numel() const { return flat_.numel(); }
    /// Returns the buffer as numbers. Throws std::logic_error unless it is float32 on the CPU.
    [[nodiscard]] std::span<float> values();
    [[nodiscard]] std::span<float const> values() const;

    /// Returns the parameters in the order of parameter_places().
    [[nodiscard]] std::vector<NamedTensor> const& named() const { return named_; }
    /// Returns the parameter `name`. Throws std::out_of_range if there is none.
    [[nodiscard]] at::Tensor const& get(std::string_view name) const;

    // Padded V is the size of the vocabulary, rounded up to a multiple of 64. C is the width and L
    // is the number of layers. The letters a and b are those in the formulas of docs/model.md.
    [[nodiscard]] at::Tensor const& embedding() const { return embedding_; }  ///< (padded V, C)
    [[nodiscard]] at::Tensor const& head() const { return head_; }            ///< (padded V, C)
    [[nodiscard]] BlockMatrices const& block(std::int64_t layer) const
    {
        return blocks_.at(static_cast<std::size_t>(layer));
    }

  private:
    Parameters(config::Model const& shape, at::Tensor flat);
    [[nodiscard]] Parameters with_scalars_of(Parameters const& other) &&;
    void require_floats_on_cpu() const;

    config::Model shape_;
    at::Tensor flat_;
    std::vector<NamedTensor> named_;
    std::vector<BlockMatrices> blocks_;
    at::Tensor embedding_, head_, scalars_;
};

}  // namespace curtail::model
