// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/core/result.hpp"

namespace curtail::trainer {

/// The reason for which a rank cannot make its part of a step.
struct StepFailure {
    Error error;
    bool out_of_memory{};
};

/// Calls `body`. Turns an exception into an error, so that all ranks can go on together: with the
/// code `unavailable` if there was not enough memory, `temporary` if CUDA reports an error, and
/// otherwise `software`. Lets comm::CommError through.
[[nodiscard]] tl::expected<void, StepFailure> without_exceptions(
    std::function<Result<void>()> const& body);

}  // namespace curtail::trainer
