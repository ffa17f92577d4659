// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/shared_file.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/core/foreign_text.hpp"
#include "base/core/text.hpp"

namespace curtail::s3 {
namespace {

// Finds the lines that continue the value above them, as the AWS CLI does: they are indented more
// than its key. A profile may be indented as a whole.
class Continuations {
  public:
    // Takes the next line that is neither empty nor a comment.
    bool continues(std::string_view line)
    {
        auto const indent = line.find_first_not_of(" \t");
        if (indent > key_indent_) return true;
        key_indent_ = line[indent] == '[' ? std::string_view::npos : indent;
        return false;
    }

  private:
    std::size_t key_indent_{std::string_view::npos};  // of the last key in this profile
};

bool is_skipped(std::string_view line)
{
    line = trim(line);
    return line.empty() || line[0] == '#' || line[0] == ';';
}

// Returns the name in "[name]", and nothing for any other line.
std::optional<std::string> section_name(std::string_view line)
{
    line = trim(line);
    if (line.size() < 2 || line.front() != '[' || line.back() != ']') return std::nullopt;
    return std::string(trim(line.substr(1, line.size() - 2)));
}

}  // namespace

Result<std::optional<Profile>> find_profile(std::string_view text, std::string const& section,
                                            std::string const& source)
{
    std::optional<Profile> profile;
    Continuations continuations;
    bool inside = false;
    int number = 0;
    if (auto foreign = foreign_line_ends(text))
        return fail(ExitCode::config, "cannot read credentials from " + source,
                    std::move(foreign->why), std::move(foreign->remedy));
    for (auto const line : split(without_byte_order_mark(text), '\n')) {
        ++number;
        if (is_skipped(line) || continuations.continues(line)) continue;
        if (auto const name = section_name(line)) {
            inside = *name == section;
            if (inside && !profile) profile.emplace();
            continue;
        }
        auto const equals = line.find('=');
        if (equals == std::string_view::npos)
            return fail(ExitCode::config, "cannot read credentials from " + source,
                        fmt::format("line {} is neither [profile] nor key = value", number),
                        "correct that line");
        if (inside)
            (*profile)[lower_case(trim(line.substr(0, equals)))] = trim(line.substr(equals + 1));
    }
    return profile;
}

}  // namespace curtail::s3
