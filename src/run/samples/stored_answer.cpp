// SPDX-License-Identifier: Apache-2.0
#include "run/samples/stored_answer.hpp"

#include <algorithm>
#include <cmath>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "run/samples/watttime_points.hpp"

namespace curtail::samples {
namespace {

// WattTime's answer with one value has a few hundred bytes.
constexpr std::size_t most_bytes = std::size_t{64} * 1024;

// Returns the line that the poller made of an answer.
std::optional<json::Object> line_from(std::string const& answer, RegionId const& region, Time time)
{
    auto const packed = from_base64(answer);
    auto const body = packed ? gunzip(*packed, most_bytes) : std::nullopt;
    if (!body) return std::nullopt;
    auto const response = json::parse(*body, "answer", json::Dialect::strict, json::record_limits);
    if (!response) return std::nullopt;
    auto const points = watttime::read_points(*response, region, "answer");
    if (!points) return std::nullopt;
    auto const found = std::ranges::find(points->samples, time, &Sample::time);
    if (found == points->samples.end()) return std::nullopt;
    return line_of(region, *found);
}

// A program that rewrote the line may have formatted its numbers in another way.
bool is_same(json::Value const& a, json::Value const& b)
{
    auto const x = a.as_number();
    auto const y = b.as_number();
    if (!x || !y) return a == b;
    constexpr double rounding = 1e-9;
    return std::abs(*x - *y) <= rounding * std::max(1.0, std::abs(*x));
}

// The answer does not have these members.
bool is_own_of_poller(std::string const& key)
{
    return key == "endpoint" || key == "received" || key == "answer";
}

// Returns whether `one` has each member of `other`, except those of the poller, with its value.
bool has_members_of(json::Object const& one, json::Object const& other)
{
    return std::ranges::all_of(other.members(), [&](auto const& member) {
        auto const* value = one.find(member.first);
        return is_own_of_poller(member.first) ||
               (value != nullptr && is_same(*value, member.second));
    });
}

}  // namespace

AnswerCheck check_answer(json::Object const& line)
{
    auto const answer = line.text_at("answer");
    auto const time = line.time_at("time");
    if (answer.empty() || !time || line.text_at("provider") != watttime::provider)
        return AnswerCheck::none;
    auto const expected = line_from(answer, {line.text_at("region")}, *time);
    if (!expected) return AnswerCheck::differs;
    return has_members_of(line, *expected) && has_members_of(*expected, line)
               ? AnswerCheck::agrees
               : AnswerCheck::differs;
}

}  // namespace curtail::samples
