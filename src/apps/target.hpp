// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace curtail::apps {

/// Checks that writing `file` would overwrite nothing but an earlier output. Fails with `usage` if
/// `file` exists and its first 4096 bytes do not contain `mark`. All outputs of one kind contain
/// the same `mark` there. `kind` is what the error message calls such an output, for example "a
/// report".
[[nodiscard]] Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                                        std::string_view mark);

}  // namespace curtail::apps
