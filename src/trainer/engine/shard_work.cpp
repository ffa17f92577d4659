// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/shard_work.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace curtail::trainer {
namespace {

// Calls `use(first, count)` for the slices of `values`.
template <class Use>
void for_slices(at::Tensor const& values, Use const& use)
{
    auto const size = values.numel();
    auto const slice = cut_slice_elements(values.device());
    for (std::int64_t first = 0; first < size; first += slice)
        use(first, std::min(slice, size - first));
}

std::int64_t count_nonfinite(at::Tensor const& values)
{
    std::int64_t finite = 0;
    for_slices(values, [&](std::int64_t first, std::int64_t count) {
        finite += at::isfinite(values.narrow(0, first, count)).sum().item<std::int64_t>();
    });
    return values.numel() - finite;
}

}  // namespace

std::int64_t cut_slice_elements(c10::Device device)
{
    return device.is_cpu() ? std::int64_t{1} << 18 : std::int64_t{1} << 26;
}

void ShardWork::begin(at::Tensor const& x)
{
    discard();
    anchor_ = room(x).copy_(x);
}

void ShardWork::discard()
{
    keep_memory_of(std::exchange(anchor_, {}));
    undecided_.clear();
}

// The allocator of a GPU keeps unused memory itself.
void ShardWork::keep_memory_of(at::Tensor unused)
{
    if (unused.defined() && unused.is_cpu()) unused_ = std::move(unused);
}

at::Tensor ShardWork::room(at::Tensor const& x)
{
    return unused_.defined() ? std::exchange(unused_, {}) : at::empty_like(x);
}

CutSums ShardWork::begin_cut(Seq seq, at::Tensor const& x)
{
    if (!anchor_.defined()) throw std::logic_error("a cut without an anchor");
    if (undecided_.contains(seq))
        throw std::logic_error("cut " + std::to_string(seq.value) + " was already made");
    auto delta = room(x);
    auto sum = at::zeros({}, x.options().dtype(at::kDouble));
    for_slices(x, [&](std::int64_t first, std::int64_t count) {
        auto part = delta.narrow(0, first, count);
        at::sub_out(part, anchor_.narrow(0, first, count), x.narrow(0, first, count));
        sum += at::linalg_vector_norm(part, 2, {}, false, at::kDouble).square();
    });
    auto const squares = sum.item<double>();
    // The sum of the squares of finite float32 values is finite in float64.
    auto const nonfinite = std::isfinite(squares) ? 0 : count_nonfinite(delta);
    undecided_.emplace(seq, std::move(delta));
    return {squares, nonfinite};
}

void ShardWork::end_cut(Seq seq, bool good, at::Tensor const& x)
{
    if (good) {
        anchor_.copy_(x);
        return;
    }
    undecided_.at(seq).zero_();
    x.copy_(anchor_);
}

void ShardWork::adopt(at::Tensor const& theta, bool worked, at::Tensor const& x)
{
    if (!anchor_.defined()) throw std::logic_error("a model is adopted without an anchor");
    auto const work = worked ? anchor_.sub_(x) : anchor_;
    anchor_ = theta;
    for (auto const& [seq, delta] : undecided_) anchor_.sub_(delta);
    x.copy_(anchor_);
    if (worked) x.sub_(work);
    keep_memory_of(work);
}

void ShardWork::forget(std::vector<Seq> const& seqs)
{
    for (auto const seq : seqs)
        if (auto forgotten = undecided_.extract(seq)) keep_memory_of(std::move(forgotten.mapped()));
}

}  // namespace curtail::trainer
