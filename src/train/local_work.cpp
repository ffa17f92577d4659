// SPDX-License-Identifier: Apache-2.0
#include "train/local_work.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace curtail::train {
namespace {

// a - x; adds its sum of squares and number of non-finite values to `work`.
std::vector<float> subtract(std::span<float const> a, std::span<float const> x, CutWork& work)
{
    std::vector<float> delta(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        float const d = a[i] - x[i];
        delta[i] = d;
        work.sum_of_squares += static_cast<double>(d) * static_cast<double>(d);
        if (!std::isfinite(d)) ++work.nonfinite;
    }
    return delta;
}

}  // namespace

void LocalWork::begin(Values theta)
{
    discard();
    anchor_ = std::move(theta);
}

void LocalWork::discard()
{
    anchor_.reset();
    undecided_.clear();
    since_ = {};
    steps_since_ = 0;
    skipped_ = {};
}

rounds::Ranges LocalWork::next_blocks(rounds::Ranges const& held, std::int64_t most) const
{
    auto free = held - since_ - skipped_;
    for (auto const& [seq, work] : undecided_) free -= work.ranges;
    return free.lowest(most);
}

void LocalWork::record_step(rounds::Ranges const& blocks)
{
    since_ += blocks;
    ++steps_since_;
}

void LocalWork::record_skipped_step(rounds::Ranges const& blocks) { skipped_ += blocks; }

CutWork LocalWork::cut(Seq seq, std::span<float const> x)
{
    if (!anchor_ || anchor_->size() != x.size())
        throw std::logic_error("no anchor, or anchor and weights differ in size");
    CutWork work{std::exchange(since_, {}), std::exchange(steps_since_, 0), nullptr, 0, 0};
    auto delta = subtract(*anchor_, x, work);
    if (work.nonfinite > 0) {
        std::fill(delta.begin(), delta.end(), 0.0F);
        work.sum_of_squares = 0;
    } else {
        anchor_ = std::make_shared<std::vector<float> const>(x.begin(), x.end());
    }
    work.delta = std::make_shared<std::vector<float> const>(std::move(delta));
    if (!undecided_.emplace(seq, work).second)
        throw std::logic_error("cut " + std::to_string(seq.value) + " was already made");
    return work;
}

Values LocalWork::adopt(Values theta, std::vector<Seq> const& dropped, std::span<float const> x)
{
    if (!anchor_ || theta->size() != x.size() || anchor_->size() != x.size())
        throw std::logic_error("adopted model and weights differ in size");
    drop(dropped);
    auto const before = std::exchange(anchor_, without_undecided(std::move(theta)));
    if (since_.empty()) return anchor_;
    auto moved = std::make_shared<std::vector<float>>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) (*moved)[i] = (*anchor_)[i] - ((*before)[i] - x[i]);
    return moved;
}

Values LocalWork::without_undecided(Values theta) const
{
    if (undecided_.empty()) return theta;
    auto anchor = std::make_shared<std::vector<float>>(*theta);
    for (auto const& [seq, work] : undecided_)
        for (std::size_t i = 0; i < anchor->size(); ++i) (*anchor)[i] -= (*work.delta)[i];
    return anchor;
}

void LocalWork::adopt_own(std::vector<Seq> const& dropped) { drop(dropped); }

void LocalWork::drop(std::vector<Seq> const& seqs)
{
    for (auto const seq : seqs) undecided_.erase(seq);
}

}  // namespace curtail::train
