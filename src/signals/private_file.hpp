// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

/// Files and folders that only their owner may touch.
namespace curtail::signals {

/// The content of a file that holds a secret; nothing if it does not exist. `permission`, with the
/// command to type, unless it is a regular file (not a link) of the effective user, closed to group
/// and others, in a folder that nobody else can write. The caller wipes the content.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(
    std::filesystem::path const& file, std::int64_t limit = std::int64_t{64} << 10);
/// Makes a folder with mode 0700, or checks that an existing one is the effective user's and closed
/// to everybody else.
[[nodiscard]] Result<void> ensure_private_folder(std::filesystem::path const& folder);

}  // namespace curtail::signals
