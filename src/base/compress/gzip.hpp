// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace curtail {

/// Compresses `text` to gzip format (RFC 1952) at the highest compression level. Equal texts give
/// equal bytes, because the gzip header contains no time, file name or operating system.
[[nodiscard]] std::string gzip(std::string_view text);
/// Returns the text that gzip() compressed. Returns an empty optional if `compressed` is damaged,
/// has bytes after its end, or has a text of more than `most` bytes. Both throw std::runtime_error
/// if zlib has no memory.
[[nodiscard]] std::optional<std::string> gunzip(std::string_view compressed, std::size_t most);

}  // namespace curtail
