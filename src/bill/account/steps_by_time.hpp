// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "run/runlog/metrics.hpp"

namespace curtail::account {

/// The steps of one site in the order of `StepMetrics::time`. Steps with the same time keep the
/// order of the file. A lookup takes logarithmic time.
class StepsByTime {
  public:
    /// `steps` must outlive the object. If they are in order, they are not copied.
    explicit StepsByTime(std::vector<runlog::StepMetrics> const& steps);
    StepsByTime(StepsByTime&&) = default;
    StepsByTime(StepsByTime const&) = delete;
    StepsByTime& operator=(StepsByTime&&) = default;
    StepsByTime& operator=(StepsByTime const&) = delete;
    ~StepsByTime() = default;

    /// Returns the median duration of all steps; empty without steps.
    [[nodiscard]] std::optional<FractionalSeconds> median_duration() const { return median_; }
    /// Returns the steps that ended in [from, to).
    [[nodiscard]] std::span<runlog::StepMetrics const> between(Time from, Time to) const;

  private:
    std::vector<runlog::StepMetrics> sorted_;  ///< empty if the file was in order
    std::span<runlog::StepMetrics const> steps_;
    std::optional<FractionalSeconds> median_;
};

}  // namespace curtail::account
