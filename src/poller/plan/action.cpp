// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/action.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace curtail::plan {
namespace {

// Stored in journals, in the order of ActionType.
constexpr std::array<char const*, 6> names{"submit",         "drain", "cancel",
                                           "cancel-pending", "sweep", "wait"};

}  // namespace

char const* to_text(ActionType type) { return names.at(static_cast<std::size_t>(type)); }

std::optional<ActionType> parse_action_type(std::string const& text)
{
    auto const* const found = std::ranges::find(names, std::string_view(text));
    if (found == names.end()) return std::nullopt;
    return static_cast<ActionType>(found - names.begin());
}

}  // namespace curtail::plan
