// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

// Files and folders that only their owner may access.

namespace curtail {

/// Reads a file that holds a secret. Returns an empty optional if the file does not exist. The
/// caller must wipe the content.
///
/// The file must be a regular file (not a link) that belongs to the effective user. Group and
/// others must have no access, and nobody else may write to its folder. Fails with `permission` if
/// the file breaks one of these rules; the message says what to change. Fails with `data`
/// if the file is longer than `limit` bytes.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(
    std::filesystem::path const& file, std::int64_t limit = std::int64_t{64} << 10);
/// Creates a folder with mode 0700, and its missing parents. Fails with `permission` if an existing
/// folder belongs to another user, or if others may access it.
[[nodiscard]] Result<void> ensure_private_folder(std::filesystem::path const& folder);

}  // namespace curtail
