// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace curtail {

/// Compresses `text` to gzip format (RFC 1952) at the highest compression level. Equal texts give
/// equal bytes, because the gzip header contains no time, file name or operating system.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace curtail
