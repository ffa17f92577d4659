// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace curtail::apps {

/// Checks that writing `file` overwrites no input. Fails with `usage` if `file` exists and is not
/// an earlier output of the same kind. `kind` names the kind with its article, such as "a report".
/// Every output of that kind contains the text `mark` in its first 4096 bytes.
[[nodiscard]] Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                                        std::string_view mark);

}  // namespace curtail::apps
