// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <stop_token>

#include "core/clock.hpp"

namespace curtail {

/// The limits of one operation.
struct Call {
    std::stop_token cancel{};         ///< the operation should end soon after a stop request
    std::optional<MonoTime> until{};  ///< the operation should end at this time

    /// Returns whether the operation should end now.
    [[nodiscard]] bool is_over() const
    {
        return cancel.stop_requested() || (until && monotonic_now() >= *until);
    }
};

}  // namespace curtail
