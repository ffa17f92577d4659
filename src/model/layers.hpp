#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

/// The parts of the GPT that are not a matrix product, each with its derivative (docs/model.md has the formulas). No autograd:
/// what a derivative needs is returned by the forward part and handed to the backward part. Operations and their order are those
/// of the reference and of PyTorch's derivatives of it: on the same kind of processor all results are the same to the bit, except
/// where a sum over tokens is taken in slices.
/// Letters: N tokens (B T), C width, H query heads, K key/value heads, D head size, V vocabulary.
namespace curtail::model {

/// rms(x) = x / sqrt(mean(x^2) + eps) over the last dimension, eps being the machine epsilon of x's type.
struct Normed {
    at::Tensor x;
    at::Tensor y;       ///< shape of x
    at::Tensor factor;  ///< (..., 1): y = x factor
};
[[nodiscard]] Normed rms_norm(at::Tensor const& x);
/// dL/dx = factor dy - x factor^3 mean(dy x), plus `other`, what x receives by other ways.
[[nodiscard]] at::Tensor rms_norm_backward(at::Tensor const& dy, Normed const& normed, at::Tensor const& other = {});

/// Rotary position embedding, base 10000, halves: (x1 cos + x2 sin, -x1 sin + x2 cos). Tables rounded to bfloat16 as the reference's.
class Rotary {
  public:
    Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type);
    [[nodiscard]] at::Tensor rotate(at::Tensor const& x) const;          ///< (B, T, heads, D) -> new tensor of that shape
    void rotate_back(at::Tensor const& dy, at::Tensor const& dx) const;  ///< writes the derivative into dx, which may be a view

  private:
    at::Tensor cos_, sin_;  ///< (sequence, 1, D / 2)
};

/// Causal softmax(q k^T / sqrt(D)) v. Query head h reads key/value head h K / H.
struct Attention {
    at::Tensor q, k, v;    ///< (B, H, T, D), (B, K, T, D) twice
    at::Tensor y;          ///< (B, H, T, D); y.transpose(1, 2) is contiguous
    at::Tensor logsumexp;  ///< for the derivative
};
/// q (B, T, H, D), k and v (B, T, K, D), which may be views.
[[nodiscard]] Attention attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v);
/// Derivatives from dy (B, H, T, D), written into dq (B, T, H, D), dk and dv (B, T, K, D), which may be views.
void attend_backward(at::Tensor const& dy, Attention const& attention, at::Tensor const& dq, at::Tensor const& dk, at::Tensor const& dv);

/// Logits 15 tanh(x W^T / 15), without the rows of W that only pad the vocabulary. x (N, C), W (padded V, C) -> (N, V).
[[nodiscard]] at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary);

/// Cross entropy of the softcapped logits, in nats, per token; 0 where target is -1. target (N), int64 -> (N).
/// Works through the tokens in slices, so that logits of all tokens never exist together.
[[nodiscard]] at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target, std::int64_t vocabulary);

struct HeadGradients {
    at::Tensor losses;  ///< (N) as head_losses
    at::Tensor dx;      ///< (N, C): derivative of scale * sum of losses
};
/// The same, and in the same pass the derivatives of scale * sum of losses; that for W is added to `dhead` (padded V, C).
[[nodiscard]] HeadGradients head_losses_with_gradients(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target,
                                                       std::int64_t vocabulary, double scale, at::Tensor const& dhead);

}  // namespace curtail::model
