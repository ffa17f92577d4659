// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/json.hpp"
#include "run/config/model.hpp"
#include "trainer/model/gpt.hpp"

namespace curtail::check {

/// One operation of a training step, at the sizes of the step.
struct Operation {
    std::string name;
    double seconds{};   ///< of one call
    double flop{};      ///< floating-point operations of one call; 0: not counted
    double bytes{};     ///< read from and written to memory by one call; 0: not counted
    double per_step{};  ///< calls in one step of training; 0: not in the step
    std::optional<double> aten_seconds{};  ///< of ATen's operators for the same
    std::optional<double> error{};         ///< that of model::KernelError
};
[[nodiscard]] json::Object to_json(Operation const& operation);

/// What to measure.
struct OperationSubject {
    model::Kernels const& kernels;
    model::GpuAttention attention{};  ///< the one with which training computes
    config::Model shape;
    std::int64_t rows{};           ///< of a micro-batch
    std::int64_t micro_batches{};  ///< of a step
    at::Device device;
    at::ScalarType type;
    double seconds_per_time{};  ///< how long to measure each time
};

/// The groups of operations: `products`, `head`, `attention`, `kernels`, `optimizer` and `copy`.
[[nodiscard]] std::span<std::string_view const> operation_groups();

/// Measures the operations of a group, and calls `visit` for each as soon as it is measured. Throws
/// std::invalid_argument if there is no such group.
void measure_operations(std::string_view group, OperationSubject const& subject,
                        std::function<void(Operation const&)> const& visit);

}  // namespace curtail::check
