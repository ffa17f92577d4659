// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::runlog {

/// One optimizer step of a site: a line of its `metrics.jsonl`.
struct StepMetrics {
    Time time;                     ///< real time at the end of the step
    std::int64_t step{};           ///< steps of this process, from 1
    std::int64_t round{};          ///< of the model that the step started from; 0 without a store
    Tokens tokens{};               ///< consumed by the step
    Tokens progress{};             ///< tokens behind the weights, before the step
    std::optional<double> loss;    ///< nats per token, mean over the step; nothing if not finite
    double lr_scale{};             ///< the schedule's factor
    FractionalSeconds duration{};  ///< real
};

/// Appends one line.
[[nodiscard]] Result<void> append_metrics(std::filesystem::path const& path,
                                          StepMetrics const& metrics);

struct MetricsFile {
    std::vector<StepMetrics> steps;
    int broken_lines{0};  ///< cut short when their writer crashed, or damaged
};
/// All whole lines of a file. A missing file has none.
[[nodiscard]] Result<MetricsFile> read_metrics(std::filesystem::path const& path);

}  // namespace curtail::runlog
