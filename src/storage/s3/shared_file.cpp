// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/shared_file.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/core/text.hpp"

namespace curtail::s3 {
namespace {

bool is_skipped(std::string_view line)
{
    return line.empty() || line[0] == '#' || line[0] == ';' || line[0] == ' ' || line[0] == '\t' ||
           line == "\r";
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
    bool inside = false;
    int number = 0;
    for (auto const line : split(without_byte_order_mark(text), '\n')) {
        ++number;
        if (is_skipped(line)) continue;
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
