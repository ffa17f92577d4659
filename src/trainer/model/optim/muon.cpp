// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/muon.hpp"

#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "trainer/model/optim/sum_of_squares.hpp"

namespace curtail::optim {
namespace {

struct Polynomial {
    double a, b, c;
};
// Per step, a X + b (X X^T) X + c (X X^T)^2 X; arXiv:2505.16932, for singular values up to 1/1.02.
constexpr std::array<Polynomial, 5> polynomials{
    {{8.156554524902461, -22.48329292557795, 15.878769915207462},
     {4.042929935166739, -2.808917465908714, 0.5000178451051316},
     {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
     {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
     {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}};
constexpr std::array<std::int64_t, 2> sides{1, 2};  // dimensions of a matrix in a stack
constexpr double second_beta = 0.95;
constexpr double tiny = 1e-10;
// Muon processes so many elements at a time. On a CPU, its buffers then stay in the caches. On a
// GPU, they then take about 2 GB.
constexpr std::int64_t slice_elements_on_cpu = std::int64_t{1} << 18;
constexpr std::int64_t slice_elements_on_gpu = std::int64_t{1} << 27;
constexpr std::int64_t split_rows = 128;  // the fewest rows that symmetric_product() splits

// w -= rate (step + decay w), with cautious decay: only where the step also shrinks the weight.
// A zero step counts as shrinking, so that a matrix without gradient decays. Returns the sum of the
// squares of the changes.
at::Tensor descend(at::Tensor const& w, at::Tensor const& step, double rate, double decay,
                   StepMask const& mask)
{
    auto const change = at::mul(step, rate).to(at::kFloat);
    if (decay != 0) change.add_(at::mul(step, w).ge_(0).mul_(at::mul(w, rate * decay)));
    if (mask.skip.defined()) change.mul_(at::rsub(mask.skip, 1));
    w.sub_(change);
    return sum_of_squares(change);
}

// gram := x x^T. On a CPU, computes only blocks on and above the diagonal and copies the others.
void symmetric_product(at::Tensor const& x, at::Tensor const& gram)
{
    std::int64_t const rows = x.size(1);
    if (!x.is_cpu() || rows < split_rows) {
        auto out = gram;
        at::bmm_out(out, x, x.transpose(1, 2));
        return;
    }
    std::int64_t const half = rows / 2;
    auto const upper = x.narrow(1, 0, half);
    auto const lower = x.narrow(1, half, rows - half);
    symmetric_product(upper, gram.narrow(1, 0, half).narrow(2, 0, half));
    symmetric_product(lower, gram.narrow(1, half, rows - half).narrow(2, half, rows - half));
    auto const across = at::bmm(upper, lower.transpose(1, 2));
    gram.narrow(1, 0, half).narrow(2, half, rows - half).copy_(across);
    gram.narrow(1, half, rows - half).narrow(2, 0, half).copy_(across.transpose(1, 2));
}

// Buffers of the iteration: x x^T, its square, and the next x.
struct Buffers {
    at::Tensor gram, square, next;
};

// x := a x + (b A + c A A) x with A = x x^T, in float32.
void improve(at::Tensor& x, Polynomial const& p, Buffers& buffers)
{
    symmetric_product(x, buffers.gram);
    symmetric_product(buffers.gram, buffers.square);
    buffers.square.mul_(p.c).add_(buffers.gram, p.b);
    at::baddbmm_out(buffers.next, x, buffers.square, x, p.a, 1);
    std::swap(x, buffers.next);
}

// As improve(), rounded to bfloat16 wherever the reference rounds. (Not mul_: in bfloat16 mul_ also
// rounds its factor; mul and the reference do not.)
void improve_bfloat16(at::Tensor& x, Polynomial const& p, Buffers& buffers)
{
    at::bmm_out(buffers.gram, x, x.transpose(1, 2));
    at::bmm_out(buffers.square, buffers.gram, buffers.gram);
    at::bmm_out(buffers.next, at::mul(buffers.gram, p.b).add_(at::mul(buffers.square, p.c)), x);
    x = at::mul(x, p.a).add_(buffers.next);
}

}  // namespace

at::Tensor polar_express(at::Tensor const& matrices, at::ScalarType products)
{
    bool const tall = matrices.size(1) > matrices.size(2);
    auto x = (tall ? matrices.transpose(1, 2) : matrices).to(products);  // (K, r, c), r <= c
    x = x.div(at::mul(at::linalg_vector_norm(x, 2, sides, true), 1.02).add_(1e-6)).contiguous();
    auto const gram = at::empty({x.size(0), x.size(1), x.size(1)}, x.options());
    Buffers buffers{gram, at::empty_like(gram), at::empty_like(x)};
    for (auto const& polynomial : polynomials) {
        if (products == at::kBFloat16) improve_bfloat16(x, polynomial, buffers);
        else improve(x, polynomial, buffers);
    }
    return tall ? x.transpose(1, 2) : x;
}

Muon::Muon(std::int64_t count, std::int64_t rows, std::int64_t columns, at::ScalarType products,
           c10::Device device)
    : products_(products),
      momentum_(at::zeros({count, rows, columns}, at::TensorOptions(at::kFloat).device(device))),
      second_(rows >= columns ? at::zeros({count, rows, 1}, momentum_.options())
                              : at::zeros({count, 1, columns}, momentum_.options())),
      slice_(std::clamp<std::int64_t>(
          (device.is_cpu() ? slice_elements_on_cpu : slice_elements_on_gpu) / (rows * columns), 1,
          std::max<std::int64_t>(count, 1))),
      update_(at::empty({slice_, rows, columns}, momentum_.options()))
{
}

namespace {

// The values that a step with `mask` leaves: `before` if it is skipped.
at::Tensor masked(at::Tensor const& after, at::Tensor const& before, at::Tensor const& skip)
{
    return skip.defined() ? at::where(skip.to(at::kBool), before, after) : after;
}

// Divides rows (or columns) by their running root mean square, then restores each matrix's
// Frobenius norm. Updates `running`. Rounds to the precision of x wherever the reference does: one
// rounding less would flip signs in the mask of the decay.
at::Tensor reduce_variance(at::Tensor const& x, at::Tensor const& running, at::Tensor const& skip)
{
    bool const by_row = running.size(2) == 1;
    auto const longer = static_cast<double>(by_row ? x.size(2) : x.size(1));
    auto const wide = x.to(at::kFloat);
    auto const v = at::mul(wide, wide).mean(at::IntArrayRef{by_row ? 2 : 1}, true);
    auto const products = x.scalar_type();
    auto const second = running.to(products).lerp(v.to(products), 1 - second_beta);
    running.copy_(masked(second.to(at::kFloat), running, skip));
    auto const scale = second.clamp_min(tiny).rsqrt();
    auto const wide_scale = scale.to(at::kFloat);
    auto const before = v.sum(sides, true).mul_(longer).sqrt_();  // (K, 1, 1)
    auto const after =
        at::mul(v, longer).mul_(at::mul(wide_scale, wide_scale)).sum(sides, true).sqrt_();
    return at::mul(x, at::mul(scale, before.div_(after.clamp_min_(tiny))).to(products));
}

}  // namespace

// update := Nesterov's combination of gradient and momentum. In a skipped step the momentum takes
// the place of the gradient, which may not be finite.
void Muon::update_momentum(Slice const& slice, double beta, at::Tensor const& skip)
{
    for (std::size_t k = 0; k < slice.gradients.size(); ++k) {
        auto const index = static_cast<std::int64_t>(k);
        auto const buffer = momentum_[slice.first + index];
        auto update = update_[index];
        auto const gradient = masked(slice.gradients[k], buffer, skip);
        buffer.lerp_(gradient, 1 - beta);
        at::lerp_out(update, gradient, buffer, beta);
    }
}

at::Tensor Muon::step_slice(Slice const& slice, MuonRates rates, StepMask const& mask)
{
    auto const count = static_cast<std::int64_t>(slice.weights.size());
    update_momentum(slice, rates.momentum, mask.skip);
    auto const x = reduce_variance(polar_express(update_.narrow(0, 0, count), products_),
                                   second_.narrow(0, slice.first, count), mask.skip);
    double const shape = static_cast<double>(x.size(1)) / static_cast<double>(x.size(2));
    double const rate = rates.rate * std::sqrt(std::max(1.0, shape));
    auto squares = at::zeros({}, momentum_.options().dtype(at::kDouble));
    for (std::size_t k = 0; k < slice.weights.size(); ++k)
        squares.add_(descend(slice.weights[k], x[static_cast<std::int64_t>(k)], rate,
                             rates.weight_decay, mask));
    return squares;
}

at::Tensor Muon::step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
                      MuonRates rates, StepMask const& mask)
{
    c10::InferenceMode const no_autograd;
    auto squares = at::zeros({}, momentum_.options().dtype(at::kDouble));
    auto const most = static_cast<std::size_t>(slice_);
    for (std::size_t first = 0; first < weights.size(); first += most) {
        auto const count = std::min(most, weights.size() - first);
        squares.add_(step_slice({static_cast<std::int64_t>(first), weights.subspan(first, count),
                                 gradients.subspan(first, count)},
                                rates, mask));
    }
    return squares;
}

}  // namespace curtail::optim
