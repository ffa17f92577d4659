// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "base/core/units.hpp"

namespace curtail::config {

/// A job's time limit.
struct TimeLimit {
    std::optional<Seconds> length;  ///< empty: no limit
};

/// Parses a value of sbatch's option `--time`: minutes, minutes:seconds, hours:minutes:seconds,
/// days-hours, days-hours:minutes or days-hours:minutes:seconds. `UNLIMITED`, `INFINITE` (in any
/// case) and a length of zero mean no limit, as for sbatch. Each number has at most six digits.
/// Returns an empty optional if `text` has another format.
[[nodiscard]] std::optional<TimeLimit> parse_time_limit(std::string_view text);

}  // namespace curtail::config
