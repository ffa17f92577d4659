// SPDX-License-Identifier: Apache-2.0
#include "model/head.hpp"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace curtail::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double cap = 15;
// Tokens per slice: few enough that their logits stay in a core's cache, enough for an efficient
// matrix product.
constexpr std::int64_t slice_tokens = 256;
// Derivatives of logits kept for one product with their inputs. Bounds memory.
constexpr std::int64_t block_elements = std::int64_t{1} << 26;

// tanh(x W^T / 15): (n, V).
at::Tensor capped(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    return at::div(at::mm(x, head.t()).narrow(1, 0, vocabulary), cap).tanh_();
}

// Cross entropy of one slice of tokens.
class Slice {
  public:
    Slice(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target,
          std::int64_t vocabulary)
        : capped_(capped(x, head, vocabulary)),
          log_p_(at::_log_softmax(at::mul(capped_, cap), 1, false)),
          index_(target.clamp_min(0).unsqueeze(1)),
          counts_(target.ge(0).to(x.scalar_type()).unsqueeze(1))
    {
    }

    [[nodiscard]] at::Tensor losses() const
    {
        return log_p_.gather(1, index_).neg_().mul_(counts_).squeeze(1);
    }

    // Writes the derivative of scale * (sum of losses) with respect to x W^T into `dz` (n, V).
    void differentiate(double scale, at::Tensor dz) const
    {
        auto const d = at::zeros(log_p_.sizes(), log_p_.options())
                           .scatter_(1, index_, at::mul(counts_, -scale));
        at::tanh_backward_out(
            dz, at::_log_softmax_backward_data(d, log_p_, 1, d.scalar_type()).mul_(cap), capped_)
            .div_(cap);
    }

  private:
    at::Tensor capped_, log_p_;  // (n, V)
    at::Tensor index_, counts_;  // (n, 1): target and 1; both 0 where it is ignored
};

struct Derivatives {
    at::Tensor losses;  // (N)
    at::Tensor x;       // (N, C)
    at::Tensor head;    // (padded V, C)
};

Derivatives differentiate(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target,
                          std::int64_t vocabulary, double scale)
{
    std::int64_t const tokens = x.size(0);
    std::int64_t const block_tokens = std::max(slice_tokens, block_elements / head.size(0));
    Derivatives out{at::empty({tokens}, x.options()), at::empty(x.sizes(), x.options()), {}};
    for (std::int64_t block = 0; block < tokens; block += block_tokens) {
        std::int64_t const rows = std::min(block_tokens, tokens - block);
        auto const dz = at::empty({rows, head.size(0)}, x.options());
        dz.narrow(1, vocabulary, head.size(0) - vocabulary).zero_();
        for (std::int64_t first = 0; first < rows; first += slice_tokens) {
            std::int64_t const n = std::min(slice_tokens, rows - first);
            auto const at_tokens = [&](at::Tensor const& t) {
                return t.narrow(0, block + first, n);
            };
            Slice const slice(at_tokens(x), head, at_tokens(target), vocabulary);
            at_tokens(out.losses).copy_(slice.losses());
            auto const dslice = dz.narrow(0, first, n);
            slice.differentiate(scale, dslice.narrow(1, 0, vocabulary));
            auto dx = at_tokens(out.x);
            at::mm_out(dx, dslice, head);
        }
        auto const dhead = at::mm(dz.t(), x.narrow(0, block, rows));
        out.head = out.head.defined() ? out.head.add_(dhead) : dhead;
    }
    return out;
}

// (scale * sum of losses, losses) as one node of the autograd graph.
class HeadFunction : public torch::autograd::Function<HeadFunction> {
  public:
    static variable_list forward(AutogradContext* context, at::Tensor const& x,
                                 at::Tensor const& head, at::Tensor const& target,
                                 std::int64_t vocabulary, double scale)
    {
        auto const d = differentiate(x, head, target, vocabulary, scale);
        context->save_for_backward({d.x, d.head});
        context->mark_non_differentiable({d.losses});
        return {d.losses.sum().mul_(scale), d.losses};
    }

    static variable_list backward(AutogradContext* context, variable_list const& derivatives)
    {
        auto const saved = context->get_saved_variables();
        return {at::mul(saved[0], derivatives[0]), at::mul(saved[1], derivatives[0]), {}, {}, {}};
    }
};

}  // namespace

at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    return capped(x, head, vocabulary).mul_(cap);
}

at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target,
                       std::int64_t vocabulary)
{
    auto losses = at::empty({x.size(0)}, x.options());
    for (std::int64_t first = 0; first < x.size(0); first += slice_tokens) {
        std::int64_t const n = std::min(slice_tokens, x.size(0) - first);
        losses.narrow(0, first, n)
            .copy_(Slice(x.narrow(0, first, n), head, target.narrow(0, first, n), vocabulary)
                       .losses());
    }
    return losses;
}

HeadLoss head_loss(at::Tensor const& x, at::Tensor const& head, at::Tensor const& target,
                   std::int64_t vocabulary, double scale)
{
    auto const outputs = HeadFunction::apply(x, head, target, vocabulary, scale);
    return {outputs[0], outputs[1]};
}

}  // namespace curtail::model
