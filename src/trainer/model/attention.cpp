// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/attention.hpp"

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

namespace curtail::model {
namespace {

// Views of `qkv` as ATen's operators take them: (B, heads, T, D). Key and value heads are repeated
// for the query heads that share them.
struct Heads {
    Heads(at::Tensor const& qkv, HeadSizes sizes, std::int64_t sequence)
    {
        auto const part = [&](std::int64_t first, std::int64_t heads) {
            return qkv.narrow(1, first, heads * sizes.size)
                .view({-1, sequence, heads, sizes.size})
                .transpose(1, 2);
        };
        q = part(0, sizes.query_heads);
        k = part(sizes.query_width(), sizes.kv_heads);
        v = part(sizes.query_width() + sizes.kv_width(), sizes.kv_heads);
        auto const shared = sizes.query_heads / sizes.kv_heads;
        if (shared == 1) return;
        k = k.repeat_interleave(shared, 1);
        v = v.repeat_interleave(shared, 1);
    }
    at::Tensor q, k, v;
};

// (B, heads, T, D) as rows (N, heads D).
at::Tensor as_rows(at::Tensor const& heads)
{
    auto const by_token = heads.transpose(1, 2);
    return by_token.reshape({heads.size(0) * heads.size(2), -1});
}

// Does the same as as_rows(), and adds up the query heads that share a key/value head.
at::Tensor shared_rows(at::Tensor const& heads, HeadSizes sizes)
{
    auto const shared = sizes.query_heads / sizes.kv_heads;
    if (shared == 1) return as_rows(heads);
    return as_rows(
        heads.view({heads.size(0), sizes.kv_heads, shared, heads.size(2), sizes.size}).sum(2));
}

// The results of ATen's two operators for bfloat16 have the same places.
template <class Result>
AttentionResult attended(Result const& result)
{
    return {as_rows(std::get<0>(result)), std::get<1>(result), std::get<6>(result),
            std::get<7>(result)};
}

// The four operators of ATen. None stores the softmax; all are causal and without dropout.
enum class Operator { cpu, gpu_flash, gpu_cudnn, gpu_efficient };

Operator operator_for(at::Tensor const& qkv, GpuAttention on_gpu)
{
    if (qkv.is_cpu()) return Operator::cpu;
    if (qkv.scalar_type() != at::kBFloat16 || on_gpu == GpuAttention::efficient)
        return Operator::gpu_efficient;
    return on_gpu == GpuAttention::cudnn ? Operator::gpu_cudnn : Operator::gpu_flash;
}

using Derivatives = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Derivatives of the heads' q, k and v, where `dy` is that of `y`; all are (B, H, T, D).
Derivatives derivatives(at::Tensor const& dy, Heads const& heads, at::Tensor const& y,
                        AttentionResult const& out, std::int64_t sequence, GpuAttention on_gpu)
{
    switch (operator_for(dy, on_gpu)) {
        case Operator::gpu_flash:
            return at::_scaled_dot_product_flash_attention_backward(
                dy, heads.q, heads.k, heads.v, y, out.log_sum, {}, {}, sequence, sequence, 0.0,
                true, out.random_seed, out.random_offset);
        case Operator::gpu_cudnn:
            return at::_scaled_dot_product_cudnn_attention_backward(
                dy, heads.q, heads.k, heads.v, y, out.log_sum, out.random_seed, out.random_offset,
                {}, {}, {}, sequence, sequence, 0.0, true);
        case Operator::gpu_efficient: {
            auto const [dq, dk, dv, no_bias] = at::_scaled_dot_product_efficient_attention_backward(
                dy, heads.q, heads.k, heads.v, {}, y, out.log_sum, out.random_seed,
                out.random_offset, 0.0, {true, true, true, false}, true);
            return {dq, dk, dv};
        }
        case Operator::cpu:
            break;
    }
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(dy, heads.q, heads.k, heads.v,
                                                                    y, out.log_sum, 0.0, true);
}

}  // namespace

AttentionResult attend(at::Tensor const& qkv, HeadSizes sizes, std::int64_t sequence,
                       GpuAttention on_gpu)
{
    Heads const heads(qkv, sizes, sequence);
    switch (operator_for(qkv, on_gpu)) {
        case Operator::gpu_flash:
            return attended(
                at::_scaled_dot_product_flash_attention(heads.q, heads.k, heads.v, 0.0, true));
        case Operator::gpu_cudnn:
            return attended(at::_scaled_dot_product_cudnn_attention(heads.q, heads.k, heads.v, {},
                                                                    true, 0.0, true));
        case Operator::gpu_efficient: {
            auto const [y, log_sum, seed, offset] = at::_scaled_dot_product_efficient_attention(
                heads.q, heads.k, heads.v, {}, true, 0.0, true);
            return {as_rows(y), log_sum, seed, offset};
        }
        case Operator::cpu:
            break;
    }
    auto const [y, log_sum] =
        at::_scaled_dot_product_flash_attention_for_cpu(heads.q, heads.k, heads.v, 0.0, true);
    return {.y = as_rows(y), .log_sum = log_sum};
}

HeadGradients attend_backward(at::Tensor const& dy, at::Tensor const& qkv,
                              AttentionResult const& out, HeadSizes sizes, std::int64_t sequence,
                              GpuAttention on_gpu)
{
    Heads const heads(qkv, sizes, sequence);
    auto const as_heads = [&](at::Tensor const& rows) {
        return rows.view({-1, sequence, sizes.query_heads, sizes.size}).transpose(1, 2);
    };
    auto const [dq, dk, dv] =
        derivatives(as_heads(dy), heads, as_heads(out.y), out, sequence, on_gpu);
    return {as_rows(dq), shared_rows(dk, sizes), shared_rows(dv, sizes)};
}

}  // namespace curtail::model
