// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/csv.hpp"
#include "core/text.hpp"

namespace curtail::report {
namespace {

std::string text_of(Cell const& cell, int digits)
{
    if (cell.value.is_null()) return "-";
    if (auto const* text = cell.value.as_text()) return cell.mark + printable(*text);
    return cell.mark + fmt::format("{:.{}f}", cell.value.as_number().value_or(0), digits);
}

std::string field_of(json::Value const& value)
{
    if (value.is_null()) return "";
    if (auto const* text = value.as_text()) return *text;
    if (auto const* flag = value.as_bool()) return *flag ? "true" : "false";
    if (auto const* integer = value.as_integer()) return std::to_string(*integer);
    return fmt::format("{:.12g}", value.as_number().value_or(0));
}

}  // namespace

Cell::Cell(json::Value of, std::string before) : value(std::move(of)), mark(std::move(before)) {}

std::string to_text(Table const& table)
{
    std::vector<std::vector<std::string>> lines(1);
    for (auto const& column : table.columns) lines[0].push_back(printable(column.title));
    for (auto const& row : table.rows) {
        auto& line = lines.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i)
            line.push_back(text_of(row[i], table.columns[i].digits));
    }
    std::vector<std::size_t> widths(table.columns.size());
    for (auto const& line : lines)
        for (std::size_t i = 0; i < line.size(); ++i)
            widths[i] = std::max(widths[i], line[i].size());
    std::string out;
    for (auto const& line : lines) {
        std::string text;
        for (std::size_t i = 0; i < line.size(); ++i)
            text += table.columns[i].kind == Column::Kind::text
                        ? fmt::format("  {:<{}}", line[i], widths[i])
                        : fmt::format("  {:>{}}", line[i], widths[i]);
        out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
}

std::string to_csv(Table const& table)
{
    std::vector<std::string> fields;
    for (auto const& column : table.columns) fields.push_back(column.title);
    std::string out = csv::line_of(fields);
    for (auto const& row : table.rows) {
        fields.clear();
        for (auto const& cell : row) fields.push_back(field_of(cell.value));
        out += csv::line_of(fields);
    }
    return out;
}

}  // namespace curtail::report
