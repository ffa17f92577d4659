// SPDX-License-Identifier: Apache-2.0
#include "base/core/csv.hpp"

#include <algorithm>

namespace curtail::csv {
namespace {

// Splits a line into its fields, character by character.
class FieldReader {
  public:
    explicit FieldReader(std::string_view line) : line_(line) {}

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
    return FieldReader(line).read();
}

std::string line_of(std::vector<std::string> const& fields)
{
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) line += ',';
        line += quoted(fields[i]);
    }
    return line + "\r\n";
}

}  // namespace curtail::csv
