// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "core/events.hpp"
#include "core/log.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::train {

/// What the site draws power for, from one moment on; the report's energy model reads it.
enum class PowerState { starting, training, exchange, idle, draining, ended };
[[nodiscard]] char const* to_word(PowerState state);

/// One optimizer step, for people and for the report.
struct StepMetrics {
    Time time;             ///< real time at the end of the step
    std::int64_t step{};   ///< steps of this process, from 1
    std::int64_t round{};  ///< of the model that the step started from; 0 without a store
    Tokens tokens{};       ///< consumed by the step
    Tokens progress{};     ///< tokens behind the weights, before the step
    double loss{};         ///< nats per token, mean over the step
    double lr_scale{};     ///< the schedule's factor
    FractionalSeconds duration{};
};

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
    void event(std::string const& type, json::Object details = {});
    void state(PowerState state);  ///< only a change is written
    void ended(ExitCode code);     ///< the last words: state and exit code
    /// Replaces `status.json`, at most once a second: what the site is doing, for curtail-status.
    void status(json::Object status);

  private:
    void check(Result<void> const& written);
    std::filesystem::path folder_;
    EventLog events_;
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
