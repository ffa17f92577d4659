// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "report/view.hpp"

namespace curtail::report {

/// A value in a table.
struct Cell {
    Cell(json::Value of, std::string before = {});
    Cell(View of, std::string before = {}) : Cell(of.value(), std::move(before)) {}
    Cell(std::string of) : Cell(json::Value(std::move(of))) {}
    Cell(char const* of) : Cell(json::Value(of)) {}

    json::Value value;  ///< null: unknown
    std::string mark;   ///< text before a known value, such as `>`; not in files
};

/// A column of a table.
struct Column {
    enum class Kind { number, text };
    std::string title;
    Kind kind{Kind::number};  ///< numbers are aligned to the right, text to the left
    int digits{};             ///< decimals that readers see; files have all digits
};

/// A table of the report.
struct Table {
    std::string name;
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows{};  ///< each has one cell per column
};

/// Prints a table for a terminal: titles, then rows, with two spaces between columns. An unknown
/// value is `-`. Control characters are escaped.
[[nodiscard]] std::string to_text(Table const& table);

/// Prints a table as CSV (RFC 4180) in UTF-8, with a header row. An unknown value is an empty
/// field. Numbers have 12 significant digits.
[[nodiscard]] std::string to_csv(Table const& table);

}  // namespace curtail::report
