// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::runlog {

/// The metrics of one optimizer step: a line of a site's `metrics.jsonl`.
struct StepMetrics {
    Time time;                     ///< real time at the end of the step
    std::int64_t step{};           ///< number of the step within its process, from 1
    std::int64_t round{};          ///< round of the site's model; 0 if the trainer uses no store
    Tokens tokens{};               ///< trained by this step
    Tokens progress{};             ///< tokens that the weights were trained on before the step
    std::optional<double> loss;    ///< mean in nats per token; empty if not finite
    double lr_scale{};             ///< factor of the learning rate schedule
    FractionalSeconds duration{};  ///< of the step, in real time
};

/// Appends one line to the file `path`.
[[nodiscard]] Result<void> append_metrics(std::filesystem::path const& path,
                                          StepMetrics const& metrics);

/// The content of a `metrics.jsonl`.
struct MetricsFile {
    std::vector<StepMetrics> steps;
    int broken_lines{0};  ///< skipped lines: damaged, or incomplete because their writer crashed
};
/// Reads all valid lines of a file. A missing file counts as empty.
[[nodiscard]] Result<MetricsFile> read_metrics(std::filesystem::path const& path);

}  // namespace curtail::runlog
