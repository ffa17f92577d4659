// SPDX-License-Identifier: Apache-2.0
#include "train/shard_work.hpp"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <stdexcept>

namespace curtail::train {

void ShardWork::begin(at::Tensor const& x)
{
    discard();
    anchor_ = x.clone();
}

void ShardWork::discard()
{
    anchor_ = at::Tensor();
    undecided_.clear();
}

ShardWork::Difference ShardWork::begin_cut(Seq seq, at::Tensor const& x)
{
    if (!anchor_.defined()) throw std::logic_error("a cut without an anchor");
    auto const [it, is_new] = undecided_.emplace(seq, anchor_.sub(x));
    if (!is_new) throw std::logic_error("cut " + std::to_string(seq.value) + " was already made");
    auto const norm = at::linalg_vector_norm(it->second, 2, {}, false, at::kDouble).item<double>();
    return {norm * norm, x.numel() - at::isfinite(it->second).sum().item<std::int64_t>()};
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

void ShardWork::adopt(at::Tensor const& theta, std::vector<Seq> const& dropped, bool worked,
                      at::Tensor const& x)
{
    if (!anchor_.defined()) throw std::logic_error("a model is adopted without an anchor");
    forget(dropped);
    auto const work = worked ? anchor_.sub_(x) : anchor_;
    anchor_ = theta;
    for (auto const& [seq, delta] : undecided_) anchor_.sub_(delta);
    x.copy_(anchor_);
    if (worked) x.sub_(work);
}

void ShardWork::forget(std::vector<Seq> const& seqs)
{
    for (auto const seq : seqs) undecided_.erase(seq);
}

}  // namespace curtail::train
