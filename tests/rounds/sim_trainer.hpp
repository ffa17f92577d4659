// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rounds/messages.hpp"
#include "sim_store.hpp"

namespace curtail::rounds::test {

/// The trainer of the simulation. Computes weights, anchor and deltas as docs/rounds.md says, but
/// with Tickets instead of real weights. Orders may arrive while a step is in progress.
///
/// In the names and comments, x is the weights, theta the committed model, and a the anchor.
class SimTrainer {
  public:
    explicit SimTrainer(std::size_t blocks) : blocks_(blocks) {}

    void load(Tickets theta)
    {
        x_ = a_ = theta_ = std::move(theta);
        since_ = {};
        steps_ = 0;
        undecided_.clear();
        loaded_ = true;
        pause();
    }
    void discard()
    {
        loaded_ = false;
        pause();
        stepping_ = {};
        ++instance_;
    }
    void train(Ranges held)
    {
        held_ = std::move(held);
        running_ = true;
    }
    void pause() { running_ = false; }

    /// Starts a step if possible. Returns true if a step was started.
    [[nodiscard]] bool begin_step(std::int64_t blocks)
    {
        if (!loaded_ || !running_ || !stepping_.empty()) return false;
        auto free = held_ - since_;
        for (auto const& [seq, own] : undecided_) free -= own.ranges;
        stepping_ = free.lowest(blocks);
        return !stepping_.empty();
    }
    [[nodiscard]] bool stepping() const { return !stepping_.empty(); }
    [[nodiscard]] int instance() const { return instance_; }
    [[nodiscard]] Ranges end_step()
    {
        auto done = std::exchange(stepping_, {});
        x_ = x_ + tickets_of(done, blocks_);
        since_ += done;
        ++steps_;
        return done;
    }

    [[nodiscard]] CutReady cut(Op op, Seq seq)
    {
        pause();
        CutReady ready{op, since_, steps_, {1.0}, {0}};
        undecided_[seq] = {a_ - x_, since_};
        a_ = x_;
        since_ = {};
        steps_ = 0;
        return ready;
    }
    [[nodiscard]] Tickets const& delta(Seq seq) const { return undecided_.at(seq).d; }
    [[nodiscard]] Tickets const& anchor() const { return a_; }

    void adopt(Adopt const& adopt, Tickets const& theta)
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

    /// Checks that the weights contain theta, the undecided deltas and the work since the last cut,
    /// each exactly once.
    void check() const
    {
        if (!loaded_) return;
        auto work = tickets_of(since_, blocks_);
        auto all = since_;
        for (auto const& [seq, own] : undecided_) {
            require(!all.overlaps(own.ranges), "a block is in two own contributions");
            all += own.ranges;
            work = work + tickets_of(own.ranges, blocks_);
        }
        require(x_ == theta_ + work,
                "weights are " + bytes_of(x_) + "but should be " + bytes_of(theta_ + work));
        require(a_ == x_ - tickets_of(since_, blocks_),
                "the anchor differs from the weights at the last cut");
        for (int const count : x_)
            require(count == 0 || count == 1, "a site's weights contain a block twice");
    }

    [[nodiscard]] Ranges const& since() const { return since_; }
    [[nodiscard]] bool loaded() const { return loaded_; }
    [[nodiscard]] std::vector<Ranges> undecided() const
    {
        std::vector<Ranges> list;
        for (auto const& [seq, own] : undecided_) list.push_back(own.ranges);
        return list;
    }

  private:
    struct Own {
        Tickets d;
        Ranges ranges;
    };
    std::size_t blocks_;
    Tickets theta_;
    Tickets x_;
    Tickets a_;
    Ranges since_;
    Ranges held_;
    Ranges stepping_;
    std::int64_t steps_{0};
    std::map<Seq, Own> undecided_;
    bool loaded_{false};
    bool running_{false};
    int instance_{0};
};

}  // namespace curtail::rounds::test
