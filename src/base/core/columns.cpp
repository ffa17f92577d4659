// SPDX-License-Identifier: Apache-2.0
#include "base/core/columns.hpp"

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t gap = 2;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The number of bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count)
{
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (!continues_character(text[at]) && count-- == 0) break;
    return at;
}

// The column at which the text after a line's label begins. Without a label: two columns more than
// the line's indentation.
std::size_t hanging_indent(std::string_view line)
{
    auto const begin = std::min(line.find_first_not_of(' '), line.size());
    auto const label = line.find("  ", begin);
    if (begin > 0 || label == std::string_view::npos) return begin + 2;
    auto const text = line.find_first_not_of(' ', label);
    return text < terminal_columns / 2 ? text : begin + 2;
}

std::string broken_line(std::string_view line)
{
    if (width_of(line) <= terminal_columns) return std::string(line);
    auto const indent = hanging_indent(line);
    std::string out;
    std::size_t column = 0;
    bool is_first = true;
    // Spaces in a row become empty words, so they stay.
    for (auto const word : split(line, ' ')) {
        auto const width = width_of(word);
        if (!is_first && column + 1 + width > terminal_columns) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!is_first) {
            out += ' ';
            ++column;
        }
        out += word;
        column += width;
        is_first = false;
    }
    return out;
}

std::size_t longest_word(std::string_view text)
{
    std::size_t longest = 0;
    for (auto const word : split(text, ' ')) longest = std::max(longest, width_of(word));
    return longest;
}

// A column: how wide it is, and how wide it must be.
struct Width {
    std::size_t now;
    std::size_t least;
};

// Makes the column narrower that has most to spare, until the table fits or none has.
void shrink(std::vector<Width>& widths)
{
    auto const spare = [](Width const& w) { return w.now - std::min(w.now, w.least); };
    auto const total = [&] {
        std::size_t sum = 0;
        for (auto const& width : widths) sum += width.now + gap;
        return sum;
    };
    while (total() > terminal_columns) {
        auto const most = std::ranges::max_element(widths, {}, spare);
        if (most == widths.end() || spare(*most) == 0) return;
        --most->now;
    }
}

// The width of each column.
std::vector<Width> widths_of(std::vector<Row> const& rows, std::vector<Alignment> const& columns)
{
    std::vector<Width> widths;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        std::size_t cells = 0;
        for (std::size_t r = 1; r < rows.size(); ++r) cells = std::max(cells, width_of(rows[r][i]));
        auto const& title = rows.front()[i];
        widths.push_back({std::max(cells, width_of(title)), std::max(cells, longest_word(title))});
    }
    shrink(widths);
    constexpr std::size_t least_text = 8;
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i] == Alignment::left) widths[i].least = least_text;
    shrink(widths);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        std::size_t used = 0;
        for (auto const& row : rows)
            for (auto const& line :
                 broken_into(row[i], widths[i].now, columns[i] == Alignment::left))
                used = std::max(used, width_of(line));
        widths[i].now = used;
    }
    return widths;
}

}  // namespace

std::size_t width_of(std::string_view text)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::vector<std::string> broken_into(std::string_view text, std::size_t width, bool breaks_words)
{
    std::vector<std::string> lines(1);
    for (auto word : split(text, ' ')) {
        auto const space = lines.back().empty() ? 0 : 1;
        if (width_of(lines.back()) + space + width_of(word) <= width) {
            lines.back() += std::string(space, ' ') + std::string(word);
            continue;
        }
        if (!lines.back().empty()) lines.emplace_back();
        while (breaks_words && width_of(word) > width) {
            auto const part = bytes_of(word, width);
            lines.back() = word.substr(0, part);
            lines.emplace_back();
            word.remove_prefix(part);
        }
        lines.back() = word;
    }
    return lines;
}

std::string in_terminal_columns(std::string_view text)
{
    std::string out;
    auto const lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i)
        out += (i > 0 ? "\n" : "") + broken_line(lines[i]);
    return out;
}

std::string text_table(std::vector<Row> const& rows, std::vector<Alignment> const& columns)
{
    auto const widths = widths_of(rows, columns);
    std::string out;
    for (auto const& row : rows) {
        std::vector<Row> cells;
        std::size_t height = 1;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            cells.push_back(broken_into(row[i], widths[i].now, columns[i] == Alignment::left));
            height = std::max(height, cells.back().size());
        }
        for (std::size_t l = 0; l < height; ++l) {
            std::string line;
            for (std::size_t i = 0; i < columns.size(); ++i) {
                auto const text = l < cells[i].size() ? cells[i][l] : std::string();
                std::string const space(widths[i].now - std::min(widths[i].now, width_of(text)),
                                        ' ');
                bool const is_left = columns[i] == Alignment::left;
                line += std::string(gap, ' ') + (is_left ? text + space : space + text);
            }
            out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        }
    }
    return out;
}

}  // namespace curtail
