// SPDX-License-Identifier: Apache-2.0
#include "simulator/trainer.hpp"

#include <utility>

namespace curtail::protocol::simulator {
namespace {

constexpr std::int64_t tokens_per_block = 8;  // as in small_run()

}  // namespace

void SimTrainer::load(Tickets theta)
{
    x_ = a_ = theta_ = std::move(theta);
    since_ = {};
    steps_ = 0;
    skipped_ = {};
    undecided_.clear();
    loaded_ = true;
    pause();
}

void SimTrainer::discard()
{
    loaded_ = false;
    pause();
    stepping_ = {};
    ++instance_;
}

void SimTrainer::train(Ranges blocks)
{
    for (auto const& own : undecided())
        require(!blocks.overlaps(own), Invariant::weights, "a delta has a block that is ordered");
    blocks_to_train_ = std::move(blocks);
    running_ = true;
}

bool SimTrainer::begin_step(std::int64_t blocks)
{
    if (!loaded_ || !running_ || !stepping_.empty()) return false;
    stepping_ = (blocks_to_train_ - since_ - skipped_).lowest(blocks);
    return !stepping_.empty();
}

Ranges SimTrainer::end_step()
{
    auto done = std::exchange(stepping_, {});
    x_ = x_ + tickets_of(done, blocks_);
    since_ += done;
    ++steps_;
    return done;
}

Ranges SimTrainer::skip_step()
{
    auto skipped = std::exchange(stepping_, {});
    skipped_ += skipped;
    return skipped;
}

CutReady SimTrainer::cut(Cut const& order)
{
    pause();
    auto const tokens = since_.count() * tokens_per_block;
    CutReady const ready{order.op, static_cast<double>(tokens), 0};
    undecided_[order.seq] = {a_ - x_, since_, std::exchange(skipped_, {})};
    a_ = x_;
    last_cut_ = {std::exchange(since_, {}), std::exchange(steps_, 0)};
    cut_kept_model_ = order.with_model;
    return ready;
}

Tickets const& SimTrainer::model_of_cut() const
{
    if (!cut_kept_model_) throw std::logic_error("the last cut did not keep its weights");
    return a_;
}

void SimTrainer::adopt(Adopt const& adopt, Tickets const& theta)
{
    pause();
    for (auto const seq : adopt.dropped) undecided_.erase(seq);
    theta_ = theta;
    if (!adopt.keeps_weights) {
        auto const u = a_ - x_;
        a_ = theta;
        for (auto const& [seq, own] : undecided_) a_ = a_ - own.d;
        x_ = a_ - u;
    }
    check();
}

void SimTrainer::check() const
{
    if (!loaded_) return;
    auto work = tickets_of(since_, blocks_);
    auto all = since_;
    for (auto const& [seq, own] : undecided_) {
        require(!all.overlaps(own.ranges), Invariant::weights,
                "a block is in two own contributions");
        all += own.ranges;
        work = work + tickets_of(own.ranges, blocks_);
    }
    require(x_ == theta_ + work, Invariant::weights, [&] {
        return "weights are " + bytes_of(x_) + "but should be " + bytes_of(theta_ + work);
    });
    require(a_ == x_ - tickets_of(since_, blocks_), Invariant::weights,
            "the anchor differs from the weights at the last cut");
    for (int const count : x_)
        require(count == 0 || count == 1, Invariant::weights,
                "a site's weights contain a block twice");
}

std::vector<Ranges> SimTrainer::undecided() const
{
    std::vector<Ranges> list;
    for (auto const& [seq, own] : undecided_) list.push_back(own.ranges + own.skipped);
    return list;
}

}  // namespace curtail::protocol::simulator
