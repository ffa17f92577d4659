// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "base/core/time.hpp"
#include "base/core/units.hpp"
#include "run/runlog/metrics.hpp"

// How far a run is, how fast it trains, and how much training is left. Does no I/O.
namespace curtail::account {

/// Training time over which the speed is measured.
inline constexpr FractionalSeconds speed_window{3600};

/// Some work: one step of one site.
struct StepWork {
    Time end;                    ///< real time
    FractionalSeconds duration;  ///< real time
    Tokens tokens;
};

/// The speed of a run.
struct Speed {
    double tokens_per_s{};       ///< of all sites together
    FractionalSeconds measured;  ///< training time over which this is the mean
    Time until;                  ///< when this training time ended
};
/// Computes the speed from the steps of all sites, in any order. Training time is the time in which
/// at least one site made a step. The speed is the mean over the last `speed_window` of training
/// time: pauses, exchanges and closed windows do not count. Returns an empty optional if the steps
/// took no time.
[[nodiscard]] std::optional<Speed> speed_of(std::vector<StepWork> const& work);

/// How far a run is.
struct TokenProgress {
    Tokens target;  ///< tokens after which the run is complete
    Tokens done;
    std::optional<Speed> speed;  ///< empty if it is not known

    /// Returns done / target, at most 1.
    [[nodiscard]] double share() const;
    /// Returns the training time that is left at the present speed. Returns an empty optional if
    /// the speed is not known or is 0, unless nothing is left.
    [[nodiscard]] std::optional<FractionalSeconds> training_left() const;
};

/// Writes a duration of training for people, such as `2h05m`. From two days on, writes days: `3.1
/// days`.
[[nodiscard]] std::string training_text(FractionalSeconds duration);

/// The progress of a run, as one of its trainers sees it. The trainer knows only its own steps. But
/// the number of tokens in its weights also tells the work of other sites, once it is merged.
class TrainerProgress {
  public:
    /// Adds the trainer's newest step. `target` is the number of tokens after which the run is
    /// complete.
    void add(runlog::StepMetrics const& step, Tokens target);
    [[nodiscard]] TokenProgress now() const;

  private:
    Tokens target_;
    std::optional<Tokens> done_;     ///< tokens in the weights after the last step
    std::deque<StepWork> recent_;    ///< of the last `speed_window`
    FractionalSeconds duration_{0};  ///< sum over `recent_`
    Tokens tokens_;                  ///< sum over `recent_`
};

}  // namespace curtail::account
