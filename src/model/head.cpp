#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "model/layers.hpp"

namespace curtail::model {
namespace {

constexpr double cap = 15;
/// Tokens whose logits are worked on at a time: few enough to stay in a core's cache, enough for an efficient matrix product.
constexpr std::int64_t slice_tokens = 256;
/// Derivatives of logits that are kept for one product with their inputs; bounds memory.
constexpr std::int64_t block_elements = std::int64_t{1} << 26;

/// tanh(x W^T / 15): (n, V).
at::Tensor capped(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    return at::div(at::mm(x, head.t()).narrow(1, 0, vocabulary), cap).tanh_();
}

/// Losses of some tokens from the logarithms of their probabilities (n, V).
at::Tensor picked(at::Tensor const& log_p, at::Tensor const& index, at::Tensor const& counts)
{
    return log_p.gather(1, index).neg_().mul_(counts).squeeze(1);
}

}  // namespace

at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    return capped(x, head, vocabulary).mul_(cap);
}

at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target, std::int64_t vocabulary)
{
    auto losses = at::empty({x.size(0)}, x.options());
    for (std::int64_t first = 0; first < x.size(0); first += slice_tokens) {
        std::int64_t const n = std::min(slice_tokens, x.size(0) - first);
        auto const targets = target.narrow(0, first, n).unsqueeze(1);
        auto const log_p = at::_log_softmax(softcapped_logits(x.narrow(0, first, n), head, vocabulary), 1, false);
        losses.narrow(0, first, n).copy_(picked(log_p, targets.clamp_min(0), targets.ge(0).to(x.scalar_type())));
    }
    return losses;
}

HeadGradients head_losses_with_gradients(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target, std::int64_t vocabulary,
                                         double scale, at::Tensor const& dhead)
{
    std::int64_t const tokens = x.size(0);
    std::int64_t const block_tokens = std::max(slice_tokens, block_elements / head.size(0));
    HeadGradients out{at::empty({tokens}, x.options()), at::empty(x.sizes(), x.options())};
    for (std::int64_t block = 0; block < tokens; block += block_tokens) {
        std::int64_t const rows = std::min(block_tokens, tokens - block);
        auto const dz = at::empty({rows, head.size(0)}, x.options());
        dz.narrow(1, vocabulary, head.size(0) - vocabulary).zero_();
        for (std::int64_t first = 0; first < rows; first += slice_tokens) {
            std::int64_t const n = std::min(slice_tokens, rows - first);
            auto const xs = x.narrow(0, block + first, n);
            auto const targets = target.narrow(0, block + first, n).unsqueeze(1);  // (n, 1)
            auto const index = targets.clamp_min(0);
            auto const counts = targets.ge(0).to(x.scalar_type());
            auto const t = capped(xs, head, vocabulary);
            auto const log_p = at::_log_softmax(at::mul(t, cap), 1, false);
            out.losses.narrow(0, block + first, n).copy_(picked(log_p, index, counts));
            auto d = at::zeros({n, vocabulary}, x.options());
            d.scatter_(1, index, counts.mul_(-scale));
            d = at::_log_softmax_backward_data(d, log_p, 1, x.scalar_type()).mul_(cap);
            auto const dslice = dz.narrow(0, first, n);
            auto used = dslice.narrow(1, 0, vocabulary);
            at::tanh_backward_out(used, d, t).div_(cap);
            auto dx = out.dx.narrow(0, block + first, n);
            at::mm_out(dx, dslice, head);
        }
        dhead.add_(at::mm(dz.t(), x.narrow(0, block, rows)));
    }
    return out;
}

}  // namespace curtail::model
