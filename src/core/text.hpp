// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace curtail {

/// Makes untrusted text safe for a log or a terminal: control characters (also ESC), bidirectional
/// marks and invalid UTF-8 appear as \xNN.
[[nodiscard]] std::string printable(std::string_view text);
/// The candidate most similar to `wrong` (by prefix, then by edit distance); empty if none is
/// similar.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view wrong,
                                                      std::span<std::string const> candidates);
/// A remedy for an unknown name: `did you mean "x"?`, or the list of known names.
[[nodiscard]] std::string suggest_name(std::string_view wrong,
                                       std::span<std::string const> candidates);
/// Position of the first invalid UTF-8 sequence (overlong forms and surrogates are invalid); empty
/// if there is none.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);
[[nodiscard]] std::string hex(std::span<unsigned char const> bytes);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);

}  // namespace curtail
