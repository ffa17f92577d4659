// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "core/clock.hpp"
#include "core/log.hpp"
#include "runlog/metrics.hpp"
#include "runlog/trainer_events.hpp"

namespace curtail::train {

using runlog::PowerState;
using runlog::StepMetrics;

/// A loss as StepMetrics holds it: nothing if it is not finite.
[[nodiscard]] inline std::optional<double> if_finite(double loss)
{
    return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
}

/// Called with every step, to show it to a person; in the training loop, so it must not take long.
using StepWatcher = std::function<void(StepMetrics const&)>;

/// Writes a site's `metrics.jsonl`, `events.jsonl` and `status.json`. The training loop calls step,
/// the background thread status; both may report events and states. A full disk must not stop
/// training: what cannot be written is said once in the log and left out.
class Recorder {
  public:
    Recorder(std::filesystem::path folder, std::string site, std::string job, Log log,
             StepWatcher watcher = {});
    void step(StepMetrics const& metrics);
    void event(std::string const& type, json::Object details);
    /// One of the events of runlog/trainer_events.hpp.
    template <class TrainerEvent>
    void event(TrainerEvent const& what)
    {
        append(runlog::to_event(what, SystemClock{}.now(), site_));
    }
    void state(PowerState state);  ///< only a change is written
    void ended(ExitCode code);     ///< the last words: state and exit code
    /// Replaces `status.json`, at most once a second: what the site is doing, for curtail-status.
    void status(json::Object status);

  private:
    void append(runlog::Event const& event);
    void check(Result<void> const& written);
    std::filesystem::path folder_;
    runlog::EventLog events_;
    std::string site_;
    std::string job_;
    Log log_;
    std::mutex
        state_lock_;  ///< the background thread writes the last state if the training loop cannot
    std::string last_state_;
    StepWatcher watcher_;
    MonoTime status_due_{};
    std::atomic<bool> complained_{false};
};

}  // namespace curtail::train
