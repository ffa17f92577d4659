// SPDX-License-Identifier: Apache-2.0
#include "reference/csv.hpp"

#include <charconv>
#include <cmath>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::reference {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t most_rows = 10'000'000;

/// Fields of one line; nothing if a quote is not closed or text follows a closing quote.
std::optional<std::vector<std::string>> fields_of(std::string_view line)
{
    std::vector<std::string> fields(1);
    enum class At { start, plain, quoted, closed } at = At::start;
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (at == At::quoted) {
            if (c != '"') fields.back() += c;
            else if (i + 1 < line.size() && line[i + 1] == '"') fields.back() += line[++i];
            else at = At::closed;
        } else if (c == ',') {
            fields.emplace_back();
            at = At::start;
        } else if (c == '"' && at == At::start) {
            at = At::quoted;
        } else {
            if (at == At::closed) return std::nullopt;
            fields.back() += c;
            at = At::plain;
        }
    }
    if (at == At::quoted) return std::nullopt;
    return fields;
}

std::string_view without_return(std::string_view line)
{
    return !line.empty() && line.back() == '\r' ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

std::string CsvTable::place(std::size_t row) const
{
    return file.string() + ": line " + std::to_string(lines.at(row));
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const
{
    auto const& text = rows.at(row).at(column);
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return fail(ExitCode::data, place(row), "\"" + printable(text) + "\" is not a number");
    return value;
}

Result<CsvTable> read_csv(std::filesystem::path const& file, std::string const& header)
{
    auto const content = read_file(file);
    if (!content) return tl::unexpected(content.error());
    std::string_view text = *content;
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    auto const lines = split(text, '\n');
    if (without_return(lines.at(0)) != header)
        return fail(ExitCode::data, file.string(), "its first line is not \"" + header + "\"",
                    "give a file with these columns");
    auto const width = split(header, ',').size();
    CsvTable table{file, {}, {}};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto const where = [&] { return file.string() + ": line " + std::to_string(i + 1); };
        if (lines[i].size() > longest_line)
            return fail(ExitCode::data, where(), "longer than 1 MiB");
        if (table.rows.size() == most_rows)
            return fail(ExitCode::data, where(), "more than 10 million rows");
        auto fields = fields_of(without_return(lines[i]));
        if (!fields)
            return fail(ExitCode::data, where(), "a quote is not closed where its field ends");
        if (fields->size() != width)
            return fail(ExitCode::data, where(),
                        std::to_string(fields->size()) + " fields where the header has " +
                            std::to_string(width));
        table.rows.push_back(std::move(*fields));
        table.lines.push_back(i + 1);
    }
    return table;
}

}  // namespace curtail::reference
