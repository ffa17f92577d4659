// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::programs {

/// Checks that writing `file` would overwrite nothing but an earlier output of the same kind. All
/// outputs of one kind contain the same `mark` in their first 4096 bytes.
///
/// Fails with `usage` if `file` exists and does not contain `mark` in these bytes. The error
/// message contains `kind`, a description of the output such as "a report", and `option`, the
/// option that names the file.
[[nodiscard]] Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                                        std::string_view mark, std::string_view option = "--out");

}  // namespace curtail::programs
