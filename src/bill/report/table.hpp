// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bill/report/html.hpp"
#include "bill/report/view.hpp"

namespace curtail::report {

/// A value in a table.
struct Cell {
    Cell(json::Value of, std::string before = {});
    Cell(View of, std::string before = {}) : Cell(of.value(), std::move(before)) {}
    Cell(std::string of) : Cell(json::Value(std::move(of))) {}
    Cell(char const* of) : Cell(json::Value(of)) {}
    /// A cell of the page that is more than its value. `extra` is an additional style class.
    Cell(Html of, std::string extra = {}) : html(std::move(of)), style_class(std::move(extra)) {}

    json::Value value;        ///< null: unknown
    std::string mark;         ///< text before a known value, such as `>`; not in files
    Html html;                ///< what the page shows instead of `value`, if not empty
    std::string style_class;  ///< for the page's style sheet
};
using Row = std::vector<Cell>;

/// Makes a cell of the page with a number after a mark. A zero is faint.
[[nodiscard]] Cell or_faint_zero(std::optional<double> x, int digits, std::string const& mark = {});

/// Makes a row about the work of a site or of all: tokens trained, in the model and lost; numbers
/// of contributions refused and clipped; how often a member was removed. `work` is an object of the
/// document's key `work`.
[[nodiscard]] Row work_row(Cell name, View work);

/// A column of a table.
struct Column {
    enum class Kind { number, text };
    std::string title;
    Kind kind{Kind::number};  ///< numbers are aligned to the right, text to the left
    int digits{};             ///< decimals that readers see; files have all digits
    Html unit{};              ///< below the title, on the page
    Html mark{};              ///< beside the title, on the page
    std::string key{};        ///< of the value by which the page sorts the rows; may be empty
    bool is_modelled{false};  ///< readers see three significant digits, whatever `digits` says
};

/// Several columns that have a title together, on the page.
struct Group {
    Html title;
    std::size_t columns{};
};

/// A table of the report.
struct Table {
    std::string name;
    std::vector<Column> columns;
    std::vector<Row> rows{};      ///< each has one cell per column
    std::vector<Row> sums{};      ///< rows below the others, on the page
    std::vector<Group> groups{};  ///< of all columns but the first; may be empty
};

/// How the page shows a table.
struct Look {
    std::string id{};
    std::string style_class{};  ///< in addition to `t`
    bool is_tall{false};        ///< scrolls also downwards
    std::string box_style{};
    std::function<Attributes(std::size_t)> of_row{};  ///< attributes of the row with an index
};

/// Prints a table for a terminal: titles, then rows, by text_table(). An unknown value is `-`.
/// Control characters are escaped.
[[nodiscard]] std::string to_text(Table const& table);

/// Prints a table as CSV (RFC 4180) in UTF-8, with a header row. An unknown value is an empty
/// field. Numbers have 12 significant digits.
[[nodiscard]] std::string to_csv(Table const& table);

/// Prints a table for the page, in a box in which it scrolls where it is too wide. An unknown value
/// is a dash.
[[nodiscard]] Html to_html(Table const& table, Look const& look = {});

}  // namespace curtail::report
