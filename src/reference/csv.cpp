// SPDX-License-Identifier: Apache-2.0
#include "reference/csv.hpp"

#include <charconv>
#include <cmath>

#include "core/csv.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::reference {
namespace {

// The fields of a line, or what is wrong with it.
tl::expected<std::vector<std::string>, std::string> read_line(std::string_view line,
                                                              std::size_t width)
{
    if (line.size() > csv::line_limit) return tl::unexpected(std::string("longer than 1 MiB"));
    auto fields = csv::fields_of(line);
    if (!fields)
        return tl::unexpected(std::string("a quote is not closed at the end of its field"));
    if (fields->size() != width)
        return tl::unexpected(std::to_string(fields->size()) + " fields where the header has " +
                              std::to_string(width));
    return std::move(*fields);
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
    csv::LineReader lines(*content);
    if (lines.next().value_or("") != header)
        return fail(ExitCode::data, "cannot read " + file.string(),
                    "its first line is not \"" + header + "\"", "pass a file with these columns");
    auto const width = split(header, ',').size();
    CsvTable table{file, {}, {}};
    while (auto const line = lines.next()) {
        auto const where = [&] {
            return file.string() + ": line " + std::to_string(lines.number());
        };
        if (table.rows.size() == csv::row_limit)
            return fail(ExitCode::data, where(), "more than 10 million rows");
        auto fields = read_line(*line, width);
        if (!fields) return fail(ExitCode::data, where(), fields.error());
        table.add(std::move(*fields), lines.number());
    }
    return table;
}

}  // namespace curtail::reference
