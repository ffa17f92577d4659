// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace curtail::programs {
namespace {

std::string range_text(NumberRange const& range, char const* unlimited)
{
    NumberRange const any;
    bool const has_max = range.max < any.max;
    if (range.above_min)
        return fmt::format(" above {}", range.min) +
               (has_max ? fmt::format(" and at most {}", range.max) : "");
    if (range.min > any.min && has_max) return fmt::format(" from {} to {}", range.min, range.max);
    if (range.min > any.min) return fmt::format(" of at least {}", range.min);
    if (has_max) return fmt::format(" of at most {}", range.max);
    return unlimited;
}

bool contains(NumberRange const& range, double value)
{
    return value >= range.min && value <= range.max && !(range.above_min && value == range.min);
}

// CLI11's own checks (2.1) accept numbers that overflow, octal and hexadecimal numbers, leading
// spaces, nan and inf.
template <class Number>
bool is_number(std::string const& text, NumberRange const& range)
{
    Number number{};
    auto const* const end = text.data() + text.size();
    auto const parsed = std::from_chars(text.data(), end, number);
    return parsed.ec == std::errc{} && parsed.ptr == end &&
           contains(range, static_cast<double>(number));
}

bool is_path(Option const& option)
{
    constexpr std::array paths{"FILE", "FOLDER", "PATH", "RUN"};
    return std::find(paths.begin(), paths.end(), option.placeholder) != paths.end();
}

}  // namespace

std::optional<bool> parse_flag(std::string const& word)
{
    constexpr std::array yes{"true", "yes", "on", "1"};
    constexpr std::array no{"false", "no", "off", "0"};
    if (std::find(yes.begin(), yes.end(), word) != yes.end()) return true;
    if (std::find(no.begin(), no.end(), word) != no.end()) return false;
    return std::nullopt;
}

std::string problem_with(Option const& option, std::string const& text)
{
    switch (option.type) {
        case OptionType::flag:
            return parse_flag(text) ? "" : "must be true or false";
        case OptionType::integer:
            if (is_number<std::int64_t>(text, option.range)) return "";
            return "must be an integer" + range_text(option.range, " of at most 64 bits");
        case OptionType::number:
            if (is_number<double>(text, option.range)) return "";
            return "must be a number" + range_text(option.range, "");
        case OptionType::text:
            return text.empty() && is_path(option) ? "must not be empty" : "";
    }
    return "";
}

}  // namespace curtail::programs
