// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <optional>
#include <stop_token>

#include "base/core/clock.hpp"

namespace curtail {

/// The limits of one operation.
struct CallLimits {
    std::stop_token cancel{};         ///< the operation should end soon after a stop request
    std::optional<MonoTime> until{};  ///< the operation should end at this time

    /// Returns the time until `until`, at least 1 ms and at most `limit`.
    [[nodiscard]] Millis time_left(Millis limit) const
    {
        return until ? std::clamp(*until - monotonic_now(), Millis{1}, limit) : limit;
    }
    /// Returns whether the operation should end now.
    [[nodiscard]] bool is_over() const
    {
        return cancel.stop_requested() || (until && monotonic_now() >= *until);
    }
};

}  // namespace curtail
