// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "rounds/messages.hpp"

/// For the site_*.cpp of this room.
namespace curtail::rounds::detail {

/// Tries of one act before a site does something else; a leaving site goes on until its deadline.
inline constexpr int tries_limit = 5;

/// Reads of one object before it is believed to be bad, over 1.5 s: a network that spoils one read
/// in twenty-five must neither end a site nor have good work refused.
inline constexpr int reads_limit = 6;

/// Codes of a read that waiting alone does not mend, though the store is there.
[[nodiscard]] inline bool lasting(ExitCode code)
{
    return code == ExitCode::io || code == ExitCode::permission;
}

[[nodiscard]] inline std::vector<std::string> names_of(std::vector<Target> const& targets)
{
    std::vector<std::string> names;
    names.reserve(targets.size());
    for (auto const& target : targets) names.push_back(target.name);
    return names;
}

/// Throws std::logic_error unless `parts` are the targets in their order.
void require_targets(std::vector<PartRef> const& parts, std::vector<std::string> const& names);

}  // namespace curtail::rounds::detail
