// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/core/text.hpp"

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

// CLI11's own checks (2.1) accept numbers that overflow, octal and hexadecimal numbers, leading
// spaces, nan and inf.
template <class Number>
bool is_number(std::string const& text, NumberRange const& range)
{
    auto const number = parse_number<Number>(text);
    if (!number) return false;
    auto const value = static_cast<double>(*number);
    return value >= range.min && value <= range.max && !(range.above_min && value == range.min);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words)
{
    return std::ranges::find(words, word) != words.end();
}

}  // namespace

Option flag_option(std::string name, std::string help)
{
    return {.name = std::move(name), .type = OptionType::flag, .help = std::move(help)};
}

Option text_option(std::string name, std::string placeholder, std::string help,
                   std::string fallback)
{
    return {.name = std::move(name),
            .type = OptionType::text,
            .placeholder = std::move(placeholder),
            .fallback = std::move(fallback),
            .help = std::move(help)};
}

Option integer_option(std::string name, std::string placeholder, std::string help,
                      NumberRange range, std::string fallback)
{
    auto option =
        text_option(std::move(name), std::move(placeholder), std::move(help), std::move(fallback));
    option.type = OptionType::integer;
    option.range = range;
    return option;
}

Option number_option(std::string name, std::string placeholder, std::string help, NumberRange range,
                     std::string fallback)
{
    auto option = integer_option(std::move(name), std::move(placeholder), std::move(help), range,
                                 std::move(fallback));
    option.type = OptionType::number;
    return option;
}

Option required(Option option)
{
    option.required = true;
    return option;
}

Option repeated(Option option)
{
    option.repeated = true;
    return option;
}

Option implying(Option option, std::string value)
{
    option.implied = std::move(value);
    return option;
}

std::optional<bool> parse_flag(std::string const& word)
{
    if (is_one_of(word, {"true", "yes", "on", "1"})) return true;
    if (is_one_of(word, {"false", "no", "off", "0"})) return false;
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
            return text.empty() && is_one_of(option.placeholder, {"FILE", "FOLDER", "PATH", "RUN"})
                       ? "must not be empty"
                       : "";
    }
    return "";
}

}  // namespace curtail::programs
