// SPDX-License-Identifier: Apache-2.0
#include "run/samples/stored_answer.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "run/samples/watttime_points.hpp"

namespace curtail::samples {
namespace {

// Returns the line that the poller made of an answer.
std::optional<json::Object> line_from(std::string const& answer, RegionId const& region, Time time)
{
    if (answer.size() > SampleOrigin::longest_answer) return std::nullopt;
    auto const packed = from_base64(answer);
    auto const body = packed ? gunzip(*packed, SampleOrigin::longest_body) : std::nullopt;
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

// What the answer says about the sample. The rest of a line is what the poller says.
constexpr std::array compared{"region",      "time",     "intensity_gco2_per_kwh",
                              "kind",        "unit",     "value",
                              "model",       "period_s", "estimated",
                              "generated_at"};

// A missing member is null.
json::Value member_of(json::Object const& line, char const* key)
{
    auto const* value = line.find(key);
    return value != nullptr ? *value : json::Value();
}

}  // namespace

AnswerCheck check_answer(json::Object const& line)
{
    auto const answer = line.text_at("answer");
    auto const time = line.time_at("time");
    if (answer.empty() || !time || line.text_at("provider") != watttime::provider)
        return AnswerCheck::none;
    auto const expected = line_from(answer, {line.text_at("region")}, *time);
    if (!expected || !line.time_at("received")) return AnswerCheck::differs;
    bool const agrees = std::ranges::all_of(compared, [&](char const* key) {
        return is_same(member_of(line, key), member_of(*expected, key));
    });
    return agrees ? AnswerCheck::agrees : AnswerCheck::differs;
}

}  // namespace curtail::samples
