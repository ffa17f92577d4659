// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/trace_provider.hpp"

#include <gtest/gtest.h>

namespace curtail::signals {
namespace {

TEST(TraceProvider, IncludesBothEndsOfTheInterval)
{
    TraceProvider provider(
        samples::parse_trace(
            "point_time,A\n2026-01-11T14:20Z,1\n2026-01-11T14:25Z,2\n2026-01-11T14:30Z,3\n",
            "t.csv")
            .value());
    auto const at = [](char const* text) { return parse_time(text).value(); };
    auto const answer = provider.samples({"A"}, at("2026-01-11T14:25Z"), at("2026-01-11T14:30Z"));
    EXPECT_FALSE(answer.problem);
    ASSERT_EQ(answer.samples.size(), 2U);
    EXPECT_EQ(answer.samples.front().intensity, GramsPerKwh{2});
    EXPECT_TRUE(
        provider.samples({"A"}, at("2026-01-11T14:31Z"), at("2026-01-11T15:00Z")).samples.empty());
}

TEST(TraceProvider, UnknownRegionErrorNamesTheNearestRegion)
{
    TraceProvider provider(
        samples::parse_trace("point_time,CAISO_NORTH,DE\n2026-01-11T14:20Z,1,2\n", "t.csv")
            .value());
    auto const answer = provider.samples({"CAISO_NORD"}, Time::min(), Time::max());
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem->code, ExitCode::config);
    EXPECT_EQ(answer.problem->message(),
              "trace t.csv: no region \"CAISO_NORD\"; did you mean \"CAISO_NORTH\"?");
}

}  // namespace
}  // namespace curtail::signals
