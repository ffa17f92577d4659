// SPDX-License-Identifier: Apache-2.0
#include "base/core/csv.hpp"

#include <algorithm>

namespace curtail::csv {
namespace {

std::string quoted(std::string const& field)
{
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string out = "\"";
    for (char const c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

}  // namespace

std::optional<std::string_view> LineReader::next()
{
    ++number_;
    if (text_.empty()) return std::nullopt;
    auto const end = std::min(text_.find('\n'), text_.size());
    auto line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::optional<std::vector<std::string>> fields_of(std::string_view line)
{
    enum class State { start, plain, quoted, closed } state = State::start;
    std::vector<std::string> fields(1);
    for (std::size_t i = 0; i < line.size(); ++i) {
        char const c = line[i];
        if (state == State::quoted) {
            bool const doubled = line.substr(i).starts_with("\"\"");
            if (c != '"' || doubled) fields.back() += c;
            else state = State::closed;
            if (doubled) ++i;
        } else if (c == ',') {
            fields.emplace_back();
            state = State::start;
        } else if (c == '"' && state == State::start) {
            state = State::quoted;
        } else {
            if (state == State::closed) return std::nullopt;
            fields.back() += c;
            state = State::plain;
        }
    }
    if (state == State::quoted) return std::nullopt;
    return fields;
}

std::string line_of(std::vector<std::string> const& fields)
{
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) line += ',';
        line += quoted(valid_utf8(fields[i]));
    }
    return line + "\r\n";
}

}  // namespace curtail::csv
