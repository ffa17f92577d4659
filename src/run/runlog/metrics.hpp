// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/core/log_lines.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"
#include "base/core/units.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::runlog {

/// How long the leader spent on the parts of a step. docs/formats-run.md describes them.
struct StepPhases {
    FractionalSeconds data{};
    FractionalSeconds compute{};
    FractionalSeconds exchange{};
    FractionalSeconds update{};
};

/// What only a reader of the training itself needs to know of a step.
struct StepDetails {
    StepPhases phases;
    std::optional<double> gradient_norm;  ///< of all gradients; empty if not finite
    std::optional<double> update_norm;    ///< of the change of all weights; empty if not finite
    std::optional<double> energy_j;       ///< of all ranks since the step before; empty if unknown
    std::optional<double>
        mfu;         ///< share of the devices' peak rate that the model's operations used
    Bytes memory{};  ///< greatest memory of the leader's process so far
    /// Greatest memory of the leader's tensors on its GPU so far; empty on a CPU.
    std::optional<Bytes> gpu_memory{};
    /// How many numbers of rows of micro-batches the leader computed for the first time. 0 for the
    /// first step of a process.
    std::int64_t new_shapes{0};
};

/// The metrics of one optimizer step: a line of a site's `metrics.jsonl`.
struct StepMetrics {
    Time time;  ///< real time at the end of the step
    /// Number of the step. With a store, each instance counts its steps from 1. Without a store,
    /// the trainer continues the count from its snapshot.
    std::int64_t step{};
    /// Round of the committed model that the trainer last loaded or adopted before the step; 0
    /// without a store.
    std::int64_t round{};
    Tokens tokens{};               ///< tokens of this step, over all ranks
    Tokens progress{};             ///< tokens that the weights were trained on before the step
    std::optional<double> loss;    ///< mean per token, in nats; empty if not finite
    double lr_scale{};             ///< the schedule's factor for all learning rates
    FractionalSeconds duration{};  ///< duration of the step, in real time
    /// End of the step on the monotonic clock of the trainer's machine; empty if unknown.
    std::optional<MonoTime> monotonic{};
    /// Energy in joules since the step before, by the meters of devices and processors; empty if
    /// unknown, and negative if a meter is broken. Writers use StepDetails::energy_j.
    std::optional<double> metered_j{};
    // Readers of a file leave the following empty.
    std::optional<StepDetails> details{};  ///< empty if unknown
    /// What has been read from other sites since the step before, at a site that exchanges payloads
    /// over MPI; empty if nothing.
    std::optional<PayloadsRead> payloads{};
};

/// Appends one line to the file `path`.
[[nodiscard]] Result<void> append_metrics(std::filesystem::path const& path,
                                          StepMetrics const& metrics);

/// The content of a `metrics.jsonl`.
struct MetricsFile {
    std::vector<StepMetrics> steps;
    BrokenLines broken_lines{};  ///< the damaged or incomplete lines, which are skipped
};
/// Reads all valid lines of a text.
[[nodiscard]] MetricsFile parse_metrics(std::string_view text);

}  // namespace curtail::runlog
