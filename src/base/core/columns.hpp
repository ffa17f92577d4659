// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Fits texts and tables into the columns of a terminal.
namespace curtail {

/// The columns into which everything fits that a program prints for people.
inline constexpr std::size_t terminal_columns = 80;

/// Returns the number of characters of a UTF-8 text.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// Breaks a text into lines of at most `width` characters, at spaces. If a word is longer, breaks
/// it only if `breaks_words`. Returns one empty line for an empty text. `width` must be positive.
[[nodiscard]] std::vector<std::string> broken_into(std::string_view text, std::size_t width,
                                                   bool breaks_words);

/// Breaks the lines of a text that have more than terminal_columns. What follows a break is
/// indented: by two columns more than the line, or to the column at which the text after a label
/// begins. A label ends before two spaces or more. A longer word, such as a path, stays whole.
[[nodiscard]] std::string in_terminal_columns(std::string_view text);

/// A column of a table: numbers are aligned to the right, texts to the left.
enum class Alignment { left, right };

/// Prints a table, with two spaces before each column. The first row has the titles. If the table
/// has more than terminal_columns, breaks titles first, and then texts, the widest column first.
/// Numbers stay whole. Each row must have as many cells as `columns`.
[[nodiscard]] std::string text_table(std::vector<std::vector<std::string>> const& rows,
                                     std::vector<Alignment> const& columns);

}  // namespace curtail
