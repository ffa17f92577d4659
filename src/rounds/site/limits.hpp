// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/result.hpp"

namespace curtail::rounds::site {

/// The number of tries of one action, after which a site does something else. A leaving site
/// instead tries until its deadline.
inline constexpr int tries_limit = 5;

/// The number of invalid reads of one object after which a site treats it as damaged. These reads
/// take about 1.5 s. The limit is high enough for a network that damages one read in 25: such
/// damage should neither end a site nor cause a refusal.
inline constexpr int reads_limit = 6;

/// Returns true for the lasting error codes of an Unknown that may concern a single object.
/// `unavailable` lasts too, but always concerns the whole store.
[[nodiscard]] inline bool is_lasting_error(ExitCode code)
{
    return code == ExitCode::io || code == ExitCode::permission;
}

}  // namespace curtail::rounds::site
