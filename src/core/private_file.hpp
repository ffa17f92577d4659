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
/// The file must be a regular file, not a link. It must belong to the effective user, and group and
/// others must have no access to it. The folder of the file must belong to the effective user or to
/// root, and group and others must not be able to write to the folder.
///
/// Fails with `permission` if one of these rules is broken; the message says what to change. Fails
/// with `data` if the file is longer than `limit` bytes.
[[nodiscard]] Result<std::optional<std::string>> read_private_file(
    std::filesystem::path const& file, std::int64_t limit = std::int64_t{64} << 10);
/// Creates `folder` with mode 0700. First creates its missing parents like make_folder()
/// (core/files.hpp).
///
/// If `folder` already exists, it must be a folder, not a link. It must belong to the effective
/// user, and group and others must have no access to it. Fails with `permission` if one of these
/// rules is broken.
[[nodiscard]] Result<void> ensure_private_folder(std::filesystem::path const& folder);

}  // namespace curtail
