// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

// Recognises text as other machines and editors write it, to name it in an error message.
namespace curtail {

/// Says why bytes that look like text are no UTF-8 text with lines that a program can tell apart.
struct ForeignText {
    std::string why;
    std::string remedy;
};
/// Recognises UTF-16 and UTF-32, by a mark or by the places of NUL bytes.
[[nodiscard]] std::optional<ForeignText> wide_text(std::string_view text);
/// Recognises text in another encoding than UTF-8, also UTF-16 whose bytes are valid UTF-8.
[[nodiscard]] std::optional<ForeignText> foreign_encoding(std::string_view text);
/// Recognises text whose lines end with carriage returns only.
[[nodiscard]] std::optional<ForeignText> foreign_line_ends(std::string_view text);

}  // namespace curtail
