// SPDX-License-Identifier: Apache-2.0
#include "run/config/time_limit.hpp"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/core/text.hpp"

namespace curtail::config {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text)
{
    constexpr std::size_t max_digits = 6;
    bool const digits =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (text.empty() || text.size() > max_digits || !digits) return std::nullopt;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// One to three numbers, separated by colons.
std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text)
{
    std::vector<std::int64_t> numbers;
    for (auto const part : split(text, ':')) {
        auto const number = parse_number(part);
        if (!number || numbers.size() == 3) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

std::optional<Seconds> parse_length(std::string_view text)
{
    auto const dash = text.find('-');
    bool const has_days = dash != std::string_view::npos;
    auto const days = has_days ? parse_number(text.substr(0, dash)) : 0;
    auto numbers = parse_numbers(has_days ? text.substr(dash + 1) : text);
    if (!days || !numbers) return std::nullopt;
    // Without days, one number means minutes and two mean minutes and seconds.
    if (!has_days && numbers->size() < 3) numbers->insert(numbers->begin(), 0);
    numbers->resize(3);
    return std::chrono::days{*days} + std::chrono::hours{numbers->at(0)} +
           std::chrono::minutes{numbers->at(1)} + Seconds{numbers->at(2)};
}

bool equals_ignoring_case(std::string_view text, std::string_view word)
{
    return text.size() == word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}

bool is_unlimited(std::string_view text)
{
    return equals_ignoring_case(text, "UNLIMITED") || equals_ignoring_case(text, "INFINITE");
}

}  // namespace

std::optional<TimeLimit> parse_time_limit(std::string_view text)
{
    if (is_unlimited(text)) return TimeLimit{};
    auto const length = parse_length(text);
    if (!length) return std::nullopt;
    return *length == Seconds{0} ? TimeLimit{} : TimeLimit{length};
}

}  // namespace curtail::config
