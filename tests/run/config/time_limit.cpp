// SPDX-License-Identifier: Apache-2.0
#include "run/config/time_limit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace curtail::config {
namespace {

TEST(TimeLimit, HasTheLengthThatSbatchGivesIt)
{
    std::vector<std::pair<std::string, Seconds>> const limits{
        {"90", Seconds{5'400}},
        {"1:30", Seconds{90}},
        {"24:00:00", Seconds{86'400}},
        {"1-2", Seconds{93'600}},
        {"1-2:3", Seconds{93'780}},
        {"1-2:3:4", Seconds{93'784}},
        {"999999-0", Seconds{std::int64_t{999'999} * 86'400}}};
    for (auto const& [text, length] : limits) {
        auto const limit = parse_time_limit(text);
        ASSERT_TRUE(limit) << text;
        EXPECT_EQ(limit->length, length) << text;
    }
}

TEST(TimeLimit, MayBeAbsent)
{
    for (auto const* text : {"UNLIMITED", "infinite", "0", "0:00", "0-0"}) {
        auto const limit = parse_time_limit(text);
        ASSERT_TRUE(limit) << text;
        EXPECT_FALSE(limit->length) << text;
    }
}

TEST(TimeLimit, OtherFormatsAreRefused)
{
    for (auto const* text : {"", "1; rm -rf /", "1:2:3:4", "1-2:3:4:5", "1-", "-5", "-1", "1-2-3",
                             "5h", " 5", "1:", ":5", "1.5", "+5", "1000000", "24:00:00\n"})
        EXPECT_FALSE(parse_time_limit(text)) << text;
    EXPECT_FALSE(parse_time_limit(std::string_view("5\0", 2)));
    EXPECT_FALSE(parse_time_limit(std::string_view("INFINITE\0x", 10)));
}

}  // namespace
}  // namespace curtail::config
