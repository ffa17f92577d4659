// SPDX-License-Identifier: Apache-2.0
#include "bill/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/columns.hpp"
#include "base/core/csv.hpp"
#include "base/core/text.hpp"
#include "bill/report/format.hpp"

namespace curtail::report {
namespace {

std::string text_of(Cell const& cell, Column const& column)
{
    if (cell.value.is_null()) return "-";
    if (auto const* text = cell.value.as_text()) return cell.mark + printable(*text);
    auto const value = cell.value.as_number().value_or(0);
    auto text =
        column.is_modelled ? significant(value) : fmt::format("{:.{}f}", value, column.digits);
    std::erase(text, ',');
    return cell.mark + text;
}

std::string field_of(json::Value const& value)
{
    if (value.is_null()) return "";
    if (auto const* text = value.as_text()) return *text;
    if (auto const* flag = value.as_bool()) return *flag ? "true" : "false";
    if (auto const* integer = value.as_integer()) return std::to_string(*integer);
    return fmt::format("{:.12g}", value.as_number().value_or(0));
}

// Numbers are aligned to the right by the style sheet.
std::string alignment(Column const& column) { return column.kind == Column::Kind::text ? "l" : ""; }

Html groups_of(Table const& table)
{
    Html out = element("th.l", {{"rowspan", "2"}, {"scope", "col"}}, table.columns[0].title);
    for (auto const& group : table.groups)
        out += element(
            "th",
            {{"colspan", std::to_string(group.columns)}, {"scope", "colgroup"}, {"class", "group"}},
            group.title);
    return out;
}

Html cells_of(Row const& row, std::vector<Column> const& columns)
{
    Html out;
    for (std::size_t i = 0; i < row.size(); ++i) {
        auto classes = alignment(columns[i]);
        if (!row[i].style_class.empty())
            classes += (classes.empty() ? "" : " ") + row[i].style_class;
        auto const& [value, mark, html, style_class] = row[i];
        auto shown = html;
        if (html.empty() && value.as_text() != nullptr) shown = *value.as_text();
        else if (html.empty())
            shown = (value.is_null() ? "" : mark) +
                    (columns[i].is_modelled ? significant(value.as_number())
                                            : number(value.as_number(), columns[i].digits));
        out += element("td", {{"class", classes}}, shown);
    }
    return out;
}

}  // namespace

Cell::Cell(json::Value of, std::string before) : value(std::move(of)), mark(std::move(before)) {}

Cell or_faint_zero(std::optional<double> x, int digits, std::string const& mark)
{
    if (x && *x != 0) return Html(mark + number(*x, digits));
    return {Html(x ? mark + "0" : "–"), mark.empty() ? "z" : ""};
}

Row work_row(Cell name, View work)
{
    auto const dropped = work["dropped_tokens"];
    auto const lost = work["refused_tokens"].number_or(0) + dropped.number_or(0);
    std::string const at_least = work["is_at_least"].is_true() || !dropped ? ">" : "";
    return {std::move(name),
            {work["trained_tokens"], at_least},
            work["included_tokens"],
            {dropped || lost > 0 ? json::Value(lost) : json::Value(), at_least},
            work["refused"],
            work["clipped"],
            work["removed"]};
}

std::string to_text(Table const& table)
{
    std::vector<std::vector<std::string>> lines(1);
    std::vector<Alignment> alignments;
    for (auto const& column : table.columns) {
        lines[0].push_back(printable(column.title));
        alignments.push_back(column.kind == Column::Kind::text ? Alignment::left
                                                               : Alignment::right);
    }
    for (auto const& row : table.rows) {
        auto& line = lines.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i)
            line.push_back(text_of(row[i], table.columns[i]));
    }
    return text_table(lines, alignments);
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

Html to_html(Table const& table, Look const& look)
{
    bool const has_units = std::any_of(table.columns.begin(), table.columns.end(),
                                       [](Column const& c) { return !c.unit.empty(); });
    Html titles;
    for (std::size_t i = table.groups.empty() ? 0 : 1; i < table.columns.size(); ++i) {
        auto const& column = table.columns[i];
        // A blank unit keeps the titles of the columns aligned.
        auto const unit = column.unit.empty() ? Html("\u00a0") : column.unit;
        titles += element(
            "th", {{"scope", "col"}, {"class", alignment(column)}, {"data-key", column.key}},
            Html(column.title) + column.mark + (has_units ? element("span.u", unit) : Html()));
    }
    Html head = element("tr", titles);
    if (!table.groups.empty()) head = element("tr", groups_of(table)) + head;
    Html body;
    for (std::size_t i = 0; i < table.rows.size(); ++i)
        body += element("tr", look.of_row ? look.of_row(i) : Attributes{},
                        cells_of(table.rows[i], table.columns));
    Html content =
        element("caption.vh", table.name) + element("thead", head) + element("tbody", body);
    Html sums;
    for (auto const& row : table.sums) sums += element("tr", cells_of(row, table.columns));
    if (!sums.empty()) content += element("tfoot", sums);
    return element("div",
                   {{"class", look.is_tall ? "scroll tall" : "scroll"},
                    {"tabindex", "0"},
                    {"role", "region"},
                    {"aria-label", table.name + ", scrollable"},
                    {"style", look.box_style}},
                   element("table",
                           {{"class", look.style_class.empty() ? "t" : "t " + look.style_class},
                            {"id", look.id}},
                           content));
}

}  // namespace curtail::report
