// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace curtail {

/// Encodes `bytes` in standard base64 with padding and without line breaks (RFC 4648, section 4).
[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::string to_base64(std::span<unsigned char const> bytes);
/// Decodes base64. Returns an empty optional if `text` is not valid. Padding is required;
/// whitespace and line breaks are not allowed.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace curtail
