// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/text.hpp"

// Reads and writes comma-separated text (RFC 4180). The reader splits it into lines and fields; a
// field that it reads must not contain a line break.
namespace curtail::csv {

/// Limits for callers that read a file: the bytes of a line, and the number of rows. A row is a
/// line after the header line. The functions of this header do not check the limits.
inline constexpr std::size_t line_limit = std::size_t{1} << 20;
inline constexpr std::size_t row_limit = 10'000'000;

/// Reads the lines of a text one after the other, and counts them. Skips a byte order mark at the
/// beginning of the text.
class LineReader {
  public:
    /// `text` must outlive the reader.
    explicit LineReader(std::string_view text) : text_(without_byte_order_mark(text)) {}
    /// Returns the next line without its LF or CR LF. Returns an empty optional at the end of the
    /// text. If the text ends with LF, no empty line follows this LF.
    [[nodiscard]] std::optional<std::string_view> next();
    /// Returns how often next() was called. As long as next() returns lines, this is the number of
    /// the latest one, counted from 1.
    [[nodiscard]] std::size_t number() const { return number_; }

  private:
    std::string_view text_;
    std::size_t number_{0};
};

/// Splits a line into its fields. A field may be in quotes. Inside the quotes, a comma is part of
/// the field, and a quote is doubled. Returns an empty optional if a quote is not closed or if text
/// follows a closing quote.
[[nodiscard]] std::optional<std::vector<std::string>> fields_of(std::string_view line);

/// Returns a line with these fields, which ends with CR LF. A field with a comma, a quote or a line
/// break is put in quotes.
[[nodiscard]] std::string line_of(std::vector<std::string> const& fields);

}  // namespace curtail::csv
