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

// Splits a line into its fields, character by character.
class FieldReader {
  public:
    explicit FieldReader(std::string_view line) : line_(line) {}

    // Empty if a quote is not closed or text follows a closing quote.
    std::optional<std::vector<std::string>> read()
    {
        for (; at_ < line_.size(); ++at_)
            if (!take(line_[at_])) return std::nullopt;
        if (state_ == State::quoted) return std::nullopt;
        return std::move(fields_);
    }

  private:
    enum class State { start, plain, quoted, closed };

    bool take(char c)
    {
        if (state_ == State::quoted) return take_quoted(c);
        if (c == ',') {
            fields_.emplace_back();
            state_ = State::start;
        } else if (c == '"' && state_ == State::start) {
            state_ = State::quoted;
        } else {
            if (state_ == State::closed) return false;
            fields_.back() += c;
            state_ = State::plain;
        }
        return true;
    }

    bool take_quoted(char c)
    {
        bool const doubled = c == '"' && at_ + 1 < line_.size() && line_[at_ + 1] == '"';
        if (c != '"' || doubled) fields_.back() += c;
        else state_ = State::closed;
        if (doubled) ++at_;
        return true;
    }

    std::string_view line_;
    std::size_t at_{0};
    State state_{State::start};
    std::vector<std::string> fields_{1};
};

std::string_view without_return(std::string_view line)
{
    return !line.empty() && line.back() == '\r' ? line.substr(0, line.size() - 1) : line;
}

std::vector<std::string_view> lines_of(std::string_view text)
{
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    return split(text, '\n');
}

// The fields of a line, or what is wrong with it.
tl::expected<std::vector<std::string>, std::string> read_line(std::string_view line,
                                                              std::size_t width)
{
    if (line.size() > longest_line) return tl::unexpected(std::string("longer than 1 MiB"));
    auto fields = FieldReader(without_return(line)).read();
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
    auto const lines = lines_of(*content);
    if (without_return(lines.at(0)) != header)
        return fail(ExitCode::data, "cannot read " + file.string(),
                    "its first line is not \"" + header + "\"", "pass a file with these columns");
    auto const width = split(header, ',').size();
    CsvTable table{file, {}, {}};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto const where = [&] { return file.string() + ": line " + std::to_string(i + 1); };
        if (table.rows.size() == most_rows)
            return fail(ExitCode::data, where(), "more than 10 million rows");
        auto fields = read_line(lines[i], width);
        if (!fields) return fail(ExitCode::data, where(), fields.error());
        table.add(std::move(*fields), i + 1);
    }
    return table;
}

}  // namespace curtail::reference
