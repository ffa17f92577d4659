// SPDX-License-Identifier: Apache-2.0
#include "gpu/measured.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace curtail::check {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Measured const lines[] = {{"mix bfloat16", 2e-3, 8e-3, Times{5e-6, 2e-5}},
                          {"rotate float32", nan, 3e-6, {}}};

TEST(Measured, IsGoodWithinItsTolerance)
{
    EXPECT_TRUE(lines[0].good());
    EXPECT_FALSE((Measured{"mix", 9e-3, 8e-3, {}}.good()));
    EXPECT_FALSE(lines[1].good()) << "NaN is never good";
}

TEST(Measured, TableShowsErrorsAndTimes)
{
    EXPECT_EQ(heading() + to_text(lines[0]) + to_text(lines[1]),
              "name                                  max error  tolerance   ours (us)   ATen (us) "
              "  ratio\n"
              "mix bfloat16                           2.00e-03   8.00e-03         5.0        20.0 "
              "   4.00  ok\n"
              "rotate float32                              nan   3.00e-06           -           - "
              "      -  WRONG\n");
}

TEST(Measured, JsonHasNoNumberForNan)
{
    EXPECT_EQ(json::to_string(json::Value(to_json(lines[0]))),
              R"({"name":"mix bfloat16","error":0.002,"tolerance":0.008,"good":true,)"
              R"("ours_s":0.000005,"reference_s":0.00002})");
    EXPECT_EQ(json::to_string(json::Value(to_json(lines[1]))),
              R"({"name":"rotate float32","error":null,"tolerance":0.000003,"good":false})");
}

}  // namespace
}  // namespace curtail::check
