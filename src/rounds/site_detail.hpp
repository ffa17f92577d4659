#pragma once
#include <string>
#include <vector>

#include "rounds/messages.hpp"

/// For the site_*.cpp of this room.
namespace curtail::rounds::detail {

/// Tries of one act before a site does something else; a leaving site goes on until its deadline.
inline constexpr int tries_limit = 5;

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
