// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

/// Files and folders that only their owner may access.
namespace curtail {

/// Reads a file that holds a secret; an empty optional if it does not exist.
///
/// The file must be a regular file (not a link) of the effective user, with no access for group and
/// others, in a folder that nobody else can write. Otherwise the error has code `permission` and
/// names the command that fixes it. The caller wipes the content.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(
    std::filesystem::path const& file, std::int64_t limit = std::int64_t{64} << 10);
/// Creates a folder with mode 0700. An existing folder must belong to the effective user and be
/// closed to everyone else; otherwise the error has code `permission`.
[[nodiscard]] Result<void> ensure_private_folder(std::filesystem::path const& folder);

}  // namespace curtail
