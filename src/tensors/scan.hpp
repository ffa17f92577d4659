// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tensors/hdf5.hpp"
#include "tensors/reader.hpp"

/// Private to this library.
namespace curtail::tensors {

/// The contents of a file that passed every check of ReadLimits.
struct FileContent {
    std::vector<TensorInfo> tensors;  ///< sorted by name
    json::Object attributes;          ///< without the digest
    std::string digest;               ///< content_attribute; empty if the file has none
};
/// Walks an open file of `file_bytes` bytes. The error says why the file is refused.
[[nodiscard]] tl::expected<FileContent, std::string> scan_file(hid_t file, std::int64_t file_bytes,
                                                               ReadLimits const& limits);

}  // namespace curtail::tensors
