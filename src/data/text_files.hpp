// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "core/result.hpp"

namespace curtail::data {

/// The text files that `sources` name. A source is a file, or a folder with `.txt` files in it or
/// its subfolders; those are sorted by path. Follows links. Lists a file only once, even if it has
/// several names or is in several sources. Fails with `no_input` on a missing source, a folder
/// without text, a broken link or a `.txt` that is not a regular file.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_text_files(
    std::span<std::filesystem::path const> sources);

}  // namespace curtail::data
