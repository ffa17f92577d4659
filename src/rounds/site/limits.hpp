// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/result.hpp"

namespace curtail::rounds::site {

/// The number of times that a site repeats a failed scan, publication, lease, merge or commit
/// before it does something else. Scan::answered() tells an exception. Another exception: a leaving
/// site repeats a failed publication or commit of its own work until its deadline.
inline constexpr int tries_limit = 5;

/// The number of invalid reads of one object after which a site treats the object as damaged. These
/// reads take about 1.5 s. The limit is high enough for a network that damages one read in 25: such
/// a network should neither end a process nor cause a refusal.
inline constexpr int reads_limit = 6;

/// Returns true if an Unknown with this code reports a lasting error that may concern only a single
/// object. An error with the code `unavailable` lasts too, but concerns the whole store.
[[nodiscard]] inline bool is_lasting_error(ExitCode code)
{
    return code == ExitCode::io || code == ExitCode::permission;
}

}  // namespace curtail::rounds::site
