// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "runlog/metrics.hpp"

namespace curtail::train {

/// The parts of a step, in the order of runlog::StepPhases.
enum class Phase {
    data,      ///< reads rows of tokens
    compute,   ///< forward and backward pass
    exchange,  ///< sums gradients and sends weights; includes the wait for slower ranks
    update     ///< the optimizer's update of this rank's pieces
};

/// Measures how long a rank spends on each phase of a step. Can also write the phases of some steps
/// as a trace for Chrome and Perfetto.
class PhaseTimer {
  public:
    /// Begins a step: forgets the phases of the last one.
    void begin_step();
    /// Ends a phase. It began when the previous phase ended, or with the step.
    void end(Phase phase);
    /// Returns the time of each phase since begin_step().
    [[nodiscard]] runlog::StepPhases const& phases() const { return phases_; }

    /// Which steps to trace, and where to write the trace.
    struct Trace {
        std::filesystem::path file;
        int rank{};                 ///< shown as the process
        std::int64_t first_step{};  ///< number of steps before the first traced one
        std::int64_t steps{};       ///< number of traced steps
    };
    void trace(Trace trace) { trace_ = std::move(trace); }
    /// Ends a step. Writes the trace after its last step.
    void end_step();
    /// Returns why the trace could not be written, if so.
    [[nodiscard]] std::optional<Error> const& trace_error() const { return trace_error_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Span {
        Phase phase;
        Clock::time_point begin, end;
    };
    [[nodiscard]] bool tracing() const;
    [[nodiscard]] Result<void> write() const;

    runlog::StepPhases phases_;
    Clock::time_point last_{};
    Trace trace_;
    std::int64_t steps_{0};
    std::vector<Span> spans_;
    std::optional<Error> trace_error_;
};

}  // namespace curtail::train
