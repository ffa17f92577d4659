// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace curtail::apps {

/// Checks that writing `file` overwrites no input: it must not exist, or be an earlier output of
/// the same type. `type` names that type with its article, such as "a report". `mark` is a text in
/// the first 4096 bytes of every file of that type. Error `usage`.
[[nodiscard]] Result<void> check_target(std::filesystem::path const& file, std::string_view type,
                                        std::string_view mark);

}  // namespace curtail::apps
