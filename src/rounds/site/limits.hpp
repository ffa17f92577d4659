// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/result.hpp"

namespace curtail::rounds::site {

/// Tries of one action before a site turns to another; a leaving site tries until its deadline.
inline constexpr int tries_limit = 5;

/// Reads of one object, over 1.5 s, before a site accepts that it is bad. A network that corrupts
/// one read in 25 must neither end a site nor cause the refusal of good work.
inline constexpr int reads_limit = 6;

/// True for read errors of a reachable store that waiting alone does not cure.
[[nodiscard]] inline bool lasting(ExitCode code)
{
    return code == ExitCode::io || code == ExitCode::permission;
}

}  // namespace curtail::rounds::site
