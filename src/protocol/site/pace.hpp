// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <optional>

#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// How long something takes that a process repeats.
class Stopwatch {
  public:
    void start(MonoTime now) { begun_ = now; }
    /// Does nothing without a start().
    void stop(MonoTime now)
    {
        if (begun_) last_ = now - *begun_;
        begun_.reset();
    }
    [[nodiscard]] Millis last() const { return last_; }  ///< from the last start() to its stop()

  private:
    std::optional<MonoTime> begun_;
    Millis last_{0};
};

/// Whether the work of a process gets into the model, or always comes too late because its
/// connection to the store is too slow.
class Pace {
  public:
    Stopwatch read;     ///< from the order to read a model until the trainer has it
    Stopwatch publish;  ///< from a cut until its header is in the store
    Millis round{0};    ///< between the last two merges, by the store's clock

    /// Takes how long this process has waited for a commit that another one follows.
    void read_commit(Millis time) { reading_ += time; }
    /// Records that this process has read the newest commit.
    void has_newest() { reading_ = {}; }
    /// Returns for how long this process has read commits without reaching the newest one.
    [[nodiscard]] Millis reading() const { return reading_; }

    /// Records the decision of a commit of round `at` on a contribution of this process. Stale
    /// contributions on the same model count once.
    void decided(ContributionDecision const& own, Round at)
    {
        if (own.refused == Refusal::stale) {
            Round const base{at.value - own.staleness};
            if (base > stale_base_) ++late_;
            stale_base_ = std::max(stale_base_, base);
        } else if (!own.refused && !own.ranges.empty()) {
            late_ = 0;
            was_in_time_ = true;
        }
    }
    /// Records that others have removed this process's member as silent during a slow transfer.
    void dropped() { ++late_; }
    /// Returns how often work was late since a commit included some.
    [[nodiscard]] int times_late() const { return late_; }
    /// Returns true if this process can only cost others. Work that came in time before shows that
    /// the store may become faster again.
    [[nodiscard]] bool is_too_slow() const { return late_ >= (was_in_time_ ? 10 : 3); }

  private:
    Millis reading_{0};
    int late_{0};
    Round stale_base_{0};  ///< the greatest one of stale contributions
    bool was_in_time_{};
};

}  // namespace curtail::protocol::site
