// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/core/result.hpp"

namespace curtail::data {

/// The text files of some sources.
struct TextFiles {
    std::vector<std::filesystem::path> paths;
    std::int64_t left_out{0};  ///< files in folders that are not named `*.txt`
};

/// Returns the text files that `sources` name, each only once. A source is a file, or a folder that
/// is searched for `.txt` files, subfolders included. The order is that of `sources`; the files of
/// one folder are sorted by path.
///
/// Follows links. If a file has several names, returns only the first name in this order. Fails
/// with `no_input` if
/// - a source is missing;
/// - a source is a folder, and neither it nor a subfolder has a `.txt` file;
/// - a link is broken;
/// - an entry of a folder is named `*.txt` but is neither a regular file nor a folder.
[[nodiscard]] Result<TextFiles> find_text_files(std::span<std::filesystem::path const> sources);

}  // namespace curtail::data
