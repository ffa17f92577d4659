// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/payload/payload.hpp"

namespace curtail::payload {
namespace {

using testing::HasSubstr;

Layout const layout{{"small"}, {{"embedding", {2, 3}}, {"blocks.0.w", {2}}, {"scale", {}}}};
std::vector<float> const values{1, 2, 3, 4, 5, 6, -7, 0.1F, 9};

std::string text_of(Pieces const& pieces)
{
    std::string text(pieces.size(), '\0');
    pieces.copy(0, std::as_writable_bytes(std::span(text)));
    return text;
}
std::string encoded(std::string const& part = "w0")
{
    return text_of(encode(layout, part, values).pieces());
}

TEST(Payload, DecodesToTheEncodedValues)
{
    EXPECT_EQ(*decode(layout, "w0", encoded(), "x").value(), values);
}

TEST(Payload, IsAHeadAndThenAllValues)
{
    auto const head = head_of(layout, "w0");
    auto const bytes = std::as_bytes(std::span(values));
    EXPECT_EQ(encoded(),
              head + std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size()));
    EXPECT_EQ(head.size() % 4096, 0U);
    for (auto const* part : {"m0", "d0"}) {
        EXPECT_NE(head_of(layout, part), head);
        EXPECT_EQ(head_of(layout, part).size(), head.size());
    }
}

TEST(Payload, EqualValuesGiveEqualBytes) { EXPECT_EQ(encoded(), encoded()); }

TEST(Payload, RefusesDeltasOfAnotherRunButNotItsModel)
{
    auto other_run = layout;
    other_run.run = {"other"};
    for (auto const* part : {"w0", "m0"}) {
        auto const decoded = decode(other_run, part, encoded(part), "models/x");
        ASSERT_TRUE(decoded) << decoded.error().message();
        EXPECT_EQ(**decoded, *decode(layout, part, encoded(part), "models/x").value());
    }
    auto const delta = decode(other_run, "d0", encoded("d0"), "deltas/x");
    ASSERT_FALSE(delta);
    EXPECT_EQ(delta.error().code, ExitCode::protocol);
    EXPECT_THAT(delta.error().message(), HasSubstr("run is small, expected other"));
}

TEST(Payload, RefusesAnotherPartOrModel)
{
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
         {Case{layout, "m0", ExitCode::protocol, "part is w0, expected m0"},
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
    std::vector<float> few(8);
    EXPECT_THROW((void)encode(layout, "w0", few), std::logic_error);
    EXPECT_THROW((void)decode_into(few, layout, "w0", encoded(), "x"), std::logic_error);
}

}  // namespace
}  // namespace curtail::payload
