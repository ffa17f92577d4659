#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tanh_backward.h>

#include <algorithm>

#include "model/layers.hpp"

namespace curtail::model {
namespace {

constexpr double cap = 15;
/// Tokens whose logits exist at a time: few enough to stay in a core's cache, enough for an efficient matrix product.
constexpr std::int64_t slice_tokens = 128;

/// tanh(x W^T / 15) into `t` (N, V).
void capped(at::Tensor& t, at::Tensor const& x, at::Tensor const& head) { at::mm_out(t, x, head.t()).div_(cap).tanh_(); }

/// Losses of some tokens from t = tanh(logits / 15) (N, V). Leaves exp(logits) in `e` (N, V) and their sums in `sum` (N, 1).
/// Logits lie within +-15, so that exp needs no maximum taken off: the sum of 2^16 of them is below 3e11.
at::Tensor losses_of(at::Tensor const& t, at::Tensor const& index, at::Tensor const& counts, at::Tensor& e, at::Tensor& sum)
{
    at::mul_out(e, t, cap).exp_();
    sum = e.sum({1}, true);                                                  // (N, 1)
    return sum.log().sub_(t.gather(1, index), cap).mul_(counts).squeeze(1);  // (N)
}

}  // namespace

at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    auto t = at::empty({x.size(0), vocabulary}, x.options());
    capped(t, x, head.narrow(0, 0, vocabulary));
    return t.mul_(cap);
}

at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target, std::int64_t vocabulary)
{
    auto const w = head.narrow(0, 0, vocabulary);
    auto losses = at::empty({x.size(0)}, x.options());
    for (std::int64_t first = 0; first < x.size(0); first += slice_tokens) {
        std::int64_t const n = std::min(slice_tokens, x.size(0) - first);
        auto const targets = target.narrow(0, first, n).unsqueeze(1);
        auto t = at::empty({n, vocabulary}, x.options());
        auto e = at::empty({n, vocabulary}, x.options());
        at::Tensor sum;
        capped(t, x.narrow(0, first, n), w);
        losses.narrow(0, first, n).copy_(losses_of(t, targets.clamp_min(0), targets.ge(0).to(x.scalar_type()), e, sum));
    }
    return losses;
}

HeadGradients head_losses_with_gradients(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target, std::int64_t vocabulary,
                                         double scale, at::Tensor const& dhead)
{
    auto const w = head.narrow(0, 0, vocabulary);
    auto dw = dhead.narrow(0, 0, vocabulary);
    std::int64_t const tokens = x.size(0);
    HeadGradients out{at::empty({tokens}, x.options()), at::empty(x.sizes(), x.options())};
    auto const t_all = at::empty({std::min(slice_tokens, tokens), vocabulary}, x.options());
    auto const e_all = at::empty({std::min(slice_tokens, tokens), vocabulary}, x.options());
    for (std::int64_t first = 0; first < tokens; first += slice_tokens) {
        std::int64_t const n = std::min(slice_tokens, tokens - first);
        auto const xs = x.narrow(0, first, n);
        auto const targets = target.narrow(0, first, n).unsqueeze(1);  // (n, 1)
        auto const index = targets.clamp_min(0);
        auto const counts = targets.ge(0).to(x.scalar_type());
        auto t = t_all.narrow(0, 0, n);
        auto e = e_all.narrow(0, 0, n);
        at::Tensor sum;
        capped(t, xs, w);
        out.losses.narrow(0, first, n).copy_(losses_of(t, index, counts, e, sum));
        // dL/dlogits = counts (softmax - onehot); logits = 15 tanh(z / 15) has the derivative 1 - t^2.
        e.mul_(sum.reciprocal_().mul_(counts).mul_(scale));
        e.scatter_add_(1, index, counts.mul(-scale));
        at::tanh_backward_out(e, e, t);
        auto dx = out.dx.narrow(0, first, n);
        at::mm_out(dx, e, w);
        dw.addmm_(e.t(), xs);
    }
    return out;
}

}  // namespace curtail::model
