// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of the GPT between its matrix products, each with its derivative
// (docs/model.md). Each operation reads and writes its tensors once where the implementation
// allows it.
//
// In the comments, N is the number of tokens of a batch, T the tokens of a row, C the width, D the
// size of a head, H the number of query heads and K the number of key/value heads. V is the size
// of the vocabulary. All tensors are contiguous. r denotes the factor 1 / sqrt(mean(x^2) + eps) of
// a normalization; eps is the machine epsilon of the type in which PyTorch computes it: float32 for
// float32 and bfloat16, double for double.
//
// Weights and activations have one type. Gradients of weights, factors r and losses have the type
// type_of_sums() of it, which is float32 for bfloat16. Intermediate results are at least float32.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace curtail::model {

/// A normalized tensor and what its derivative needs.
struct NormalizationResult {
    at::Tensor y;  ///< x r
    at::Tensor r;  ///< one factor for each vector that was normalized; type_of_sums()
};

/// The tables of the rotary position embedding: (sequence, D / 2) each.
struct RotaryTables {
    at::Tensor cos, sin;
};

/// The numbers of heads and the size of a head. A row of the tensor `qkv` holds the H query heads
/// of a token, then its K key heads, then its K value heads: (N, (H + 2 K) D).
struct HeadSizes {
    std::int64_t query_heads{};  ///< H
    std::int64_t kv_heads{};     ///< K
    std::int64_t size{};         ///< D
    [[nodiscard]] std::int64_t query_width() const { return query_heads * size; }
    [[nodiscard]] std::int64_t kv_width() const { return kv_heads * size; }
    [[nodiscard]] std::int64_t row_width() const { return query_width() + 2 * kv_width(); }
};

/// The input of the residual mix a x + b x0 of one layer.
struct MixInput {
    at::Tensor x, x0;  ///< (N, C)
    at::Tensor a, b;   ///< scalars, type_of_sums()
};

/// The derivatives of a residual mix.
struct MixGradients {
    at::Tensor x;   ///< (N, C): on entry the derivative of the mix, on return that of x
    at::Tensor x0;  ///< (N, C): the function adds to it
    at::Tensor a;   ///< scalar, type_of_sums(): the function adds to it
    at::Tensor b;   ///< scalar, type_of_sums(): the function adds to it
};

/// The derivatives of q, k and v after the rotation: (N, H D), (N, K D) and (N, K D).
struct HeadGradients {
    at::Tensor q, k, v;
};

/// One implementation of the operations. An output given as `at::Tensor&` may be undefined: the
/// function then creates it. If it is defined, it must have the right shape, and the function may
/// write to its memory or replace it. All functions are safe to call from several threads.
class Kernels {
  public:
    virtual ~Kernels() = default;

    /// Normalizes each row of x (N, C): out.y (N, C), out.r (N).
    virtual void normalize(at::Tensor const& x, NormalizationResult& out) const = 0;
    /// Adds the derivative of x to `dx`, where `dy` is the derivative of `out.y`.
    virtual void normalize_backward(at::Tensor const& dy, NormalizationResult const& out,
                                    at::Tensor const& dx) const = 0;

    /// Looks up the rows `ids` (N) of `table` (padded V, C) and normalizes them. Throws
    /// std::out_of_range if an id is negative or too large.
    virtual void embed(at::Tensor const& table, at::Tensor const& ids,
                       NormalizationResult& out) const = 0;
    /// Adds the derivative of the table to `dtable`, of type_of_sums(). May overwrite `dy`, the
    /// derivative of `out.y`.
    virtual void embed_backward(at::Tensor const& dy, NormalizationResult const& out,
                                at::Tensor const& ids, at::Tensor const& dtable) const = 0;

    /// Computes mixed = a x + b x0 (N, C), and normalizes its rows.
    virtual void mix(MixInput const& in, at::Tensor& mixed, NormalizationResult& out) const = 0;
    /// Computes the derivatives of the mix. Its own derivative is the sum of `gradients.x` and of
    /// the derivative through the normalization; `dy` is the derivative of `out.y`.
    virtual void mix_backward(at::Tensor const& dy, NormalizationResult const& out,
                              MixInput const& in, MixGradients const& gradients) const = 0;

    /// Rotates the query and key heads of `qkv` by their positions in the row of T tokens, then
    /// normalizes each of these heads, in place. Sets r (N, H + K).
    virtual void rotate(at::Tensor const& qkv, HeadSizes sizes, RotaryTables const& tables,
                        std::int64_t sequence, at::Tensor& r) const = 0;
    /// Computes the derivative of `qkv` before rotate() into `dqkv`. `rotated` is `qkv` after it.
    virtual void rotate_backward(HeadGradients const& gradients, at::Tensor const& rotated,
                                 at::Tensor const& r, HeadSizes sizes, RotaryTables const& tables,
                                 std::int64_t sequence, at::Tensor& dqkv) const = 0;

    /// Replaces f by relu(f)^2, in place.
    virtual void square_relu(at::Tensor const& f) const = 0;
    /// Replaces `gradient`, the derivative of the `squares` that square_relu() has left, by that of
    /// f, which is 2 sqrt(squares) gradient.
    virtual void square_relu_backward(at::Tensor const& squares,
                                      at::Tensor const& gradient) const = 0;

    /// Cross entropies of n tokens from their products z = x W_head^T (n, padded V), with the
    /// logits 15 tanh(z / 15). Sets `losses` (n), of type_of_sums(), in nats; the loss is 0 where
    /// the target is -1. Replaces z by the derivative of scale x (sum of the losses); it is 0 in
    /// the columns after the first V. Throws std::out_of_range if a target is too large.
    virtual void cross_entropy(at::Tensor const& z, at::Tensor const& target,
                               std::int64_t vocabulary, double scale,
                               at::Tensor const& losses) const = 0;
    /// The losses of cross_entropy(), without derivatives. May overwrite z.
    virtual void cross_entropy_losses(at::Tensor const& z, at::Tensor const& target,
                                      std::int64_t vocabulary, at::Tensor const& losses) const = 0;
};

/// Returns an implementation with ATen's operators, for double, float32 and bfloat16 on every
/// device. On a GPU, it never waits for the device, and does not check ids and targets.
[[nodiscard]] std::unique_ptr<Kernels const> aten_kernels();

/// Returns an implementation for float32 tensors on the CPU. It uses the widest vector instructions
/// that the processor has, so the last digits of the results depend on the processor.
[[nodiscard]] std::unique_ptr<Kernels const> cpu_kernels();

/// Returns cpu_kernels() for float32 on the CPU, and otherwise aten_kernels().
[[nodiscard]] std::unique_ptr<Kernels const> kernels_for(at::ScalarType type,
                                                         c10::DeviceType device);

/// Factor of the softcap: logits = softcap tanh(z / softcap).
constexpr double softcap = 15;

}  // namespace curtail::model
