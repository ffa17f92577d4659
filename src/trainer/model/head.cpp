// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/head.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "trainer/model/products.hpp"
#include "trainer/model/sums.hpp"

namespace curtail::model {
namespace {

// Tokens per slice. On a CPU: few enough that their logits stay in a core's cache, enough for an
// efficient matrix product. On a GPU: enough for all its multiprocessors.
std::int64_t slice_tokens(bool on_gpu) { return on_gpu ? 4096 : 256; }
std::int64_t slice_tokens(at::Tensor const& head) { return slice_tokens(!head.is_cpu()); }

// Calls body(first token, number of tokens) for slices of at most `most` of `tokens` tokens.
template <class Body>
void for_slices(std::int64_t tokens, std::int64_t most, Body const& body)
{
    for (std::int64_t first = 0; first < tokens; first += most)
        body(first, std::min(most, tokens - first));
}

// Memory for the logits of `tokens` tokens.
at::Tensor space_for_logits(at::Tensor& space, at::Tensor const& head, std::int64_t tokens)
{
    if (!space.defined() || space.size(0) < tokens)
        space = at::empty({tokens, head.size(0)}, head.options());
    return space.narrow(0, 0, tokens);
}

at::Tensor space_for_losses(at::Tensor const& x)
{
    return at::empty({x.size(0)}, x.options().dtype(type_of_sums(x.scalar_type())));
}

}  // namespace

std::int64_t logits_tokens(std::int64_t vocabulary, bool on_gpu)
{
    constexpr std::int64_t most_logits = std::int64_t{1} << 26;
    return std::max(slice_tokens(on_gpu), most_logits / vocabulary);
}

at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head, std::int64_t vocabulary)
{
    auto const z = at::mm(x, head.t()).narrow(1, 0, vocabulary);
    return at::div(z.to(type_of_sums(z.scalar_type())), softcap).tanh_().mul_(softcap);
}

at::Tensor head_losses(Kernels const& kernels, at::Tensor const& x, at::Tensor const& head,
                       HeadTargets const& targets)
{
    auto losses = space_for_losses(x);
    at::Tensor space;
    for_slices(x.size(0), slice_tokens(head), [&](std::int64_t first, std::int64_t count) {
        auto z = space_for_logits(space, head, count);
        multiply(x.narrow(0, first, count), head, z);
        kernels.cross_entropy_losses(z, targets.ids.narrow(0, first, count), targets.vocabulary,
                                     losses.narrow(0, first, count));
    });
    return losses;
}

HeadLoss head_loss(Kernels const& kernels, at::Tensor const& x, at::Tensor const& head,
                   HeadTargets const& targets, double scale, at::Tensor const& dhead,
                   HeadScratch& scratch)
{
    auto const losses = space_for_losses(x);
    if (!scratch.dx.defined() || scratch.dx.sizes() != x.sizes())
        scratch.dx = at::empty(x.sizes(), x.options());
    auto const block_tokens = logits_tokens(head.size(0), !head.is_cpu());
    for_slices(x.size(0), block_tokens, [&](std::int64_t block, std::int64_t rows) {
        auto const dz = space_for_logits(scratch.logits, head, rows);
        for_slices(rows, slice_tokens(head), [&](std::int64_t first, std::int64_t count) {
            auto const of_slice = [&](at::Tensor const& t) {
                return t.narrow(0, block + first, count);
            };
            auto z = dz.narrow(0, first, count);
            multiply(of_slice(x), head, z);
            kernels.cross_entropy(z, of_slice(targets.ids), targets.vocabulary, scale,
                                  of_slice(losses));
            auto dx = of_slice(scratch.dx);
            multiply_backward(z, head, dx);
        });
        add_weight_gradient(dz, x.narrow(0, block, rows), dhead);
    });
    return {losses, scratch.dx};
}

}  // namespace curtail::model
