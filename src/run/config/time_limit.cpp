// SPDX-License-Identifier: Apache-2.0
#include "run/config/time_limit.hpp"

#include <vector>

#include "base/core/text.hpp"

namespace curtail::config {
namespace {

std::optional<std::int64_t> parse_short(std::string_view text)
{
    constexpr std::size_t max_digits = 6;
    return text.size() <= max_digits ? parse_number<std::uint32_t>(text) : std::nullopt;
}

// One to three numbers, separated by colons.
std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text)
{
    std::vector<std::int64_t> numbers;
    for (auto const part : split(text, ':')) {
        auto const number = parse_short(part);
        if (!number || numbers.size() == 3) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

std::optional<Seconds> parse_length(std::string_view text)
{
    auto const dash = text.find('-');
    bool const has_days = dash != std::string_view::npos;
    auto const days = has_days ? parse_short(text.substr(0, dash)) : 0;
    auto numbers = parse_numbers(has_days ? text.substr(dash + 1) : text);
    if (!days || !numbers) return std::nullopt;
    // Without days, one number means minutes and two mean minutes and seconds.
    if (!has_days && numbers->size() < 3) numbers->insert(numbers->begin(), 0);
    numbers->resize(3);
    return std::chrono::days{*days} + std::chrono::hours{numbers->at(0)} +
           std::chrono::minutes{numbers->at(1)} + Seconds{numbers->at(2)};
}

}  // namespace

std::optional<TimeLimit> parse_time_limit(std::string_view text)
{
    auto const word = lower_case(text);
    if (word == "unlimited" || word == "infinite") return TimeLimit{};
    auto const length = parse_length(text);
    if (!length) return std::nullopt;
    return *length == Seconds{0} ? TimeLimit{} : TimeLimit{length};
}

}  // namespace curtail::config
