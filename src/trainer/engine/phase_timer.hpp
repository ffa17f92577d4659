// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/core/result.hpp"
#include "base/core/time.hpp"
#include "run/runlog/metrics.hpp"
#include "trainer/engine/device_mark.hpp"

namespace curtail::trainer {

/// The parts of a step, in the order of runlog::StepPhases.
enum class StepPhase {
    data,      ///< reads rows of tokens and moves them to the device
    compute,   ///< forward and backward pass
    exchange,  ///< sums gradients and sends weights; includes the wait for slower ranks
    update     ///< the optimizer's update of this rank's ranges
};

/// When the phases of one step ended. Times are those of the device.
class StepTimes {
  public:
    explicit StepTimes(DeviceMark begin) : begin_(std::move(begin)) {}
    void end(StepPhase phase, DeviceMark mark) { ends_.push_back({phase, std::move(mark)}); }
    /// Returns the time of each phase. The device must have done the step.
    [[nodiscard]] runlog::StepPhases phases() const;
    /// Returns the time from the begin to the end of the last phase, as phases() does.
    [[nodiscard]] FractionalSeconds duration() const;

    /// One of the phases, with times since the `origin` of spans().
    struct Span {
        StepPhase phase{};
        FractionalSeconds begin{}, end{};
    };
    [[nodiscard]] std::vector<Span> spans(StepTimes const& origin) const;

  private:
    struct End {
        StepPhase phase;
        DeviceMark mark;
    };
    DeviceMark begin_;
    std::vector<End> ends_;
};

/// Measures how long a rank spends on each phase of its steps. Can also write the phases of some
/// steps as a trace for Chrome and Perfetto.
class PhaseTimer {
  public:
    explicit PhaseTimer(c10::Device device = at::kCPU)
        : device_(device), times_(DeviceMark::here(device))
    {
    }
    /// Begins a step.
    void begin_step() { times_ = StepTimes(DeviceMark::here(device_)); }
    /// Ends a phase. It began when the previous phase ended, or with the step.
    void end(StepPhase phase) { times_.end(phase, DeviceMark::here(device_)); }
    /// Returns the times of the step so far.
    [[nodiscard]] StepTimes const& times() const { return times_; }

    /// Which steps to trace, and where to write the trace.
    struct Trace {
        std::filesystem::path file;
        int rank{};                 ///< shown as the process
        std::int64_t first_step{};  ///< number of steps before the first traced one
        std::int64_t steps{};       ///< number of traced steps
    };
    void trace(Trace trace) { trace_ = std::move(trace); }
    /// Takes the times of a step that the device has done. Writes the trace after its last step.
    void record(StepTimes const& done);
    /// Returns why the trace could not be written, if so.
    [[nodiscard]] std::optional<Error> const& trace_error() const { return trace_error_; }

  private:
    [[nodiscard]] Result<void> write() const;

    c10::Device device_;
    StepTimes times_;
    Trace trace_;
    std::int64_t steps_{0};
    std::vector<StepTimes> traced_;
    std::optional<Error> trace_error_;
};

}  // namespace curtail::trainer
