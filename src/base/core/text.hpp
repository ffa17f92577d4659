// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace curtail {

/// Makes untrusted text safe for a log or a terminal. Writes control characters (including
/// newline and ESC), bidirectional marks and invalid UTF-8 as \xNN.
[[nodiscard]] std::string printable(std::string_view text);
/// Returns text of several lines, each of them printable().
[[nodiscard]] std::string printable_lines(std::string_view text);
/// Returns JSON text, which must be valid UTF-8, with the characters that printable() escapes as
/// \uNNNN. Line breaks between the values stay. The result has the same value.
[[nodiscard]] std::string printable_json(std::string_view text);
/// Returns the text with each byte that is no UTF-8 as \xNN.
[[nodiscard]] std::string valid_utf8(std::string_view text);
/// Returns printable() text in single quotes, as a shell writes a word. A shell that reads the
/// result as part of a command expands nothing in it.
[[nodiscard]] std::string shell_quoted(std::string_view text);
/// Returns the candidate that `wrong` probably means. If `wrong` has at least three characters
/// and a candidate starts with `wrong`, returns the first such candidate. Otherwise, returns the
/// candidate with the smallest edit distance from `wrong`. Returns an empty optional if this
/// distance is above max(2, length of `wrong` / 3).
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view wrong,
                                                      std::span<std::string const> candidates);
/// Returns a remedy for an unknown name: `did you mean "x"?`, where x is the result of
/// nearest_name(). If this result is empty, the remedy is the list of candidates.
[[nodiscard]] std::string suggest_name(std::string_view wrong,
                                       std::span<std::string const> candidates);
/// Returns the byte offset of the first invalid UTF-8 sequence. Overlong forms and surrogates are
/// invalid. Returns an empty optional if the text is valid.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);
/// The bytes with which some editors and spreadsheets begin a UTF-8 file: U+FEFF.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
/// Returns the text without a leading byte_order_mark. The result points into `text`.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);
/// Returns two lower-case hex digits per byte.
[[nodiscard]] std::string hex(std::span<unsigned char const> bytes);
/// Splits a text at each separator, and keeps empty parts. The parts point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// Returns the text without leading and trailing spaces, tabs and line breaks. The result points
/// into `text`.
[[nodiscard]] std::string_view trim(std::string_view text);

/// Returns the text with its letters A to Z in lower case.
[[nodiscard]] std::string lower_case(std::string_view text);

/// Parses a text that is a number and nothing else: without a sign `+` and without spaces. Returns
/// an empty optional for any other text, and if the number is too large for its type.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text)
{
    Number number{};
    auto const* const end = text.data() + text.size();
    auto const [rest, failed] = std::from_chars(text.data(), end, number);
    return failed == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}
/// Returns the integer with which the text begins, in decimal. Text after it is ignored. Returns an
/// empty optional if the text does not begin with one, or if it is too large.
[[nodiscard]] std::optional<std::int64_t> leading_integer(std::string_view text);

}  // namespace curtail
