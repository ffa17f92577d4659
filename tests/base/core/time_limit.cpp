// SPDX-License-Identifier: Apache-2.0
#include "base/core/time_limit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace curtail {
namespace {

void report(Error const& error) { std::fputs((error.message() + "\n").c_str(), stderr); }
Error const late{ExitCode::unavailable, "cannot start", "it hangs", "mend it"};

TEST(TimeLimit, EndsAProcessThatHangs)
{
    EXPECT_EXIT(
        {
            TimeLimit const limit(Millis{20}, late, report);
            for (;;) pause();
        },
        testing::ExitedWithCode(69), "cannot start: it hangs; mend it");
}

TEST(TimeLimit, IsOverWithItsObject)
{
    bool reported = false;
    for (int i = 0; i < 3; ++i)
        TimeLimit const limit(Seconds{60}, late, [&](auto const&) { reported = true; });
    EXPECT_FALSE(reported);
}

}  // namespace
}  // namespace curtail
