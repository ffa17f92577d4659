// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace curtail::apps {

/// What a program writes may take the place of an earlier file of its kind and of nothing else, so
/// that no input is ever lost. `kind` with its article, as "a report"; `mark` stands in the first
/// 4096 bytes of every file of that kind. Error: `usage`.
[[nodiscard]] Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                                        std::string_view mark);

}  // namespace curtail::apps
