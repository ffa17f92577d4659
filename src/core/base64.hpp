// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace curtail {

/// Standard base64 with padding and without line breaks (RFC 4648, section 4).
[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::string to_base64(std::span<unsigned char const> bytes);
/// The bytes that `text` encodes. Empty if `text` is not padded to a multiple of four, contains
/// whitespace or any other character outside the alphabet, or has padding before its end.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace curtail
