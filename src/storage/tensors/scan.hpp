// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks of a tensor file. Private to this library.

#include "storage/tensors/hdf5.hpp"
#include "storage/tensors/reader.hpp"

namespace curtail::tensors {

/// The contents of a file that passed all checks.
struct FileContent {
    std::vector<TensorInfo> tensors;  ///< sorted by name
    json::Object attributes;          ///< attributes of the root, without the digest
    std::string digest;  ///< value of content_attribute; an empty string if the file has none
};
/// Reads the structure of an open file of `file_bytes` bytes and checks it against `limits`. The
/// error says why the file is refused.
[[nodiscard]] tl::expected<FileContent, std::string> scan_file(hid_t file, std::int64_t file_bytes,
                                                               FileLimits const& limits);

}  // namespace curtail::tensors
