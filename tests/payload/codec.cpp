// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "payload/payload.hpp"

namespace curtail::payload {
namespace {

using testing::HasSubstr;

Layout const layout{{"small"}, {{"embedding", {2, 3}}, {"blocks.0.w", {2}}, {"scale", {}}}};
std::vector<float> const values{1, 2, 3, 4, 5, 6, -7, 0.1F, 9};

std::string encoded() { return encode(layout, "w0", values).value(); }

TEST(Payload, DecodesToTheEncodedValues)
{
    EXPECT_EQ(*decode(layout, "w0", encoded(), "x").value(), values);
}

TEST(Payload, EqualValuesGiveEqualBytes) { EXPECT_EQ(encoded(), encoded()); }

TEST(Payload, RefusesAnotherRunPartOrModel)
{
    auto other_run = layout;
    other_run.run = {"other"};
    auto other_shape = layout;
    other_shape.parameters[0].shape = {3, 2};
    auto other_names = layout;
    other_names.parameters[1].name = "blocks.1.w";
    struct Case {
        Layout layout;
        std::string part;
        ExitCode code;
        std::string reason;
    };
    for (auto const& [expected, part, code, reason] :
         {Case{other_run, "w0", ExitCode::protocol, "run is small, expected other"},
          Case{layout, "m0", ExitCode::protocol, "part is w0, expected m0"},
          Case{other_shape, "w0", ExitCode::protocol, "embedding has a different shape"},
          Case{other_names, "w0", ExitCode::data, "no tensor blocks.1.w"}}) {
        auto const decoded = decode(expected, part, encoded(), "models/x");
        ASSERT_FALSE(decoded) << reason;
        EXPECT_EQ(decoded.error().code, code) << reason;
        EXPECT_THAT(decoded.error().message(), HasSubstr(reason));
        EXPECT_THAT(decoded.error().message(), HasSubstr("models/x"));
    }
}

TEST(Payload, RefusesBytesThatAreNoTensorFile)
{
    auto const decoded = decode(layout, "w0", "text", "models/x");
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ExitCode::data);
}

TEST(Payload, ThrowsOnValuesOfTheWrongSize)
{
    EXPECT_THROW((void)encode(layout, "w0", std::vector<float>(8)), std::logic_error);
}

}  // namespace
}  // namespace curtail::payload
