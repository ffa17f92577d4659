// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/result.hpp"

// Files and folders that only their owner may access.

namespace curtail {

/// Reads a file that holds a secret. Returns an empty optional if the file does not exist. The
/// caller must wipe the content.
///
/// The file must be a regular file, not a link. Its owner must be the effective user. The mode must
/// give no access to the group or to others. No folder above may let everybody replace the file
/// (trust.hpp).
///
/// Fails with `permission` if one of these rules is broken; the message says what to change. Fails
/// with `data` if the file is longer than `limit` bytes.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(
    std::filesystem::path const& file, std::int64_t limit = std::int64_t{64} << 10);
/// Creates `folder`, and the missing folders above it, with mode 0700.
///
/// If `folder` already exists, it must be a folder, not a link. Its owner must be the effective
/// user. The mode must give no access to the group or to others. Fails with `permission` if one of
/// these rules is broken.
[[nodiscard]] Result<void> ensure_private_folder(std::filesystem::path const& folder);

}  // namespace curtail
