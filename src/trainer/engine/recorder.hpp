// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/clock.hpp"
#include "base/core/log.hpp"
#include "run/energy/state.hpp"
#include "run/runlog/metrics.hpp"
#include "run/runlog/trainer_events.hpp"
#include "trainer/engine/loss_watch.hpp"

namespace curtail::trainer {

using runlog::StepMetrics;

/// Returns `loss`, or an empty optional if `loss` is not finite. StepMetrics stores losses in this
/// form.
[[nodiscard]] inline std::optional<double> if_finite(double loss)
{
    return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
}

/// Called after every step, for example to display the step. `end`: tokens after which the training
/// ends. Runs in the training loop, so it must return quickly.
using StepWatcher = std::function<void(StepMetrics const& step, Tokens end)>;

/// Writes a site's `metrics.jsonl`, `events.jsonl` and `status.json` in `folder`. The training loop
/// calls step(), the background thread calls status() and payloads_read(). Both may call event()
/// and state(). The training loop's thread also calls ended(). If that thread hangs, the background
/// thread calls ended() instead.
///
/// A full disk must not stop the training. The first failed write is logged as a warning; further
/// failures are ignored.
class Recorder {
  public:
    Recorder(std::filesystem::path folder, std::string site, std::string job, Log log,
             StepWatcher watcher = {}, std::optional<LossWatch> loss_watch = {});
    /// Writes the metrics of a step of a run that is complete after `end` tokens. If the loss watch
    /// reports a high loss, also writes an event and logs a warning; the same for the first step
    /// with a learning rate of 0.
    void step(StepMetrics metrics, Tokens end);
    void event(std::string const& type, json::Object details);
    /// Writes one of the events in run/runlog/trainer_events.hpp.
    template <class TrainerEvent>
    void event(TrainerEvent const& what)
    {
        append(to_event(what, SystemClock{}.now(), site_));
    }
    /// Writes the event. The metrics of the next step have the same numbers.
    void payloads_read(runlog::PayloadsRead const& read);
    /// Writes an event with `state` if `state` differs from the previous state.
    void state(energy::PowerState state);
    /// Writes an event with the state `ended`, then one with the exit code. `cause` is the name of
    /// the StopCause, if there was a stop request.
    void ended(ExitCode code, std::string cause);
    /// Writes `status`, with the time and the job added, as the new `status.json`. curtail-status
    /// reads this file. Ignores calls within one second of the last write.
    void status(json::Object status);

  private:
    void append(runlog::Event event);
    void change_state(std::string const& state);
    void check(Result<void> const& written);
    void warn_of_high_loss(std::optional<double> loss);
    void warn_of_zero_rate(StepMetrics const& step, Tokens end);
    std::filesystem::path folder_;
    runlog::EventLog events_;
    std::string site_;
    std::string job_;
    Log log_;
    std::mutex lock_;  ///< protects what follows, which both threads may change
    std::string last_state_;
    std::optional<runlog::PayloadsRead> payloads_read_;  ///< since the last step
    StepWatcher watcher_;
    std::optional<LossWatch> loss_watch_;
    bool warned_of_zero_rate_{false};
    MonoTime status_due_{};
    std::atomic<bool> complained_{false};  ///< a failed write was logged
};

}  // namespace curtail::trainer
