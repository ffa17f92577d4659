// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace curtail {

/// Foreign text made safe for a log or a terminal: control characters, ESC, bidi marks and broken
/// UTF-8 appear as \xNN.
[[nodiscard]] std::string printable(std::string_view text);
/// The candidate nearest to `wrong` by edit distance, if any is near enough to be what was meant.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view wrong,
                                                      std::span<std::string const> candidates);
/// `(did you mean "x"?)`-like remedy for an unknown name: the nearest one, else the whole list.
[[nodiscard]] std::string suggest_name(std::string_view wrong,
                                       std::span<std::string const> candidates);
/// Position of the first byte that is not valid UTF-8 (overlong forms and surrogates are not), or
/// nothing.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);
[[nodiscard]] std::string hex(std::span<unsigned char const> bytes);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);

}  // namespace curtail
