// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "payload/payload.hpp"

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

// Pieces of any size, after an attempt that broke off.
TEST(Payload, IsDecodedWhileItArrives)
{
    auto const bytes = encoded();
    for (std::size_t const size : {1UL, 7UL, 4095UL, 4097UL, 1UL << 20}) {
        std::vector<float> decoded(values.size());
        Decoder decoder(layout, "w0", decoded);
        decoder.add(std::as_bytes(std::span(bytes)).first(5000 % bytes.size()));
        decoder.begin();
        for (auto rest = std::as_bytes(std::span(bytes)); !rest.empty();) {
            auto const piece = rest.first(std::min(size, rest.size()));
            decoder.add(piece);
            rest = rest.subspan(piece.size());
        }
        EXPECT_TRUE(decoder.finish()) << size;
        EXPECT_EQ(decoded, values);
    }
}

TEST(Payload, OfAnotherFormIsNotDecodedWhileItArrives)
{
    auto const bytes = encoded();
    auto const finish = [&](std::string const& text, std::string const& part) {
        std::vector<float> place(values.size());
        Decoder decoder(layout, part, place);
        decoder.add(std::as_bytes(std::span(text)));
        return decoder.finish();
    };
    EXPECT_TRUE(finish(bytes, "w0"));
    EXPECT_FALSE(finish(bytes, "m0"));
    EXPECT_FALSE(finish(bytes.substr(0, bytes.size() - 1), "w0"));
    EXPECT_FALSE(finish(bytes + "x", "w0"));
    EXPECT_FALSE(finish("", "w0"));
}

// In pieces whose size divides neither the head nor a value, and with borders of chunks.
TEST(Payload, ChunksPassOnAllValuesOnce)
{
    for (std::int64_t const size : {1, 65'536, 65'537, 200'000}) {
        Layout const wide{{"small"}, {{"w", {size}}}};
        std::vector<float> wanted(static_cast<std::size_t>(size)), found;
        std::iota(wanted.begin(), wanted.end(), 0.0F);
        auto const file = encode(wide, "d0", wanted);
        auto const pieces = file.pieces();
        ChunkDecoder chunks(wide, "d0", [&](std::size_t first, std::span<float const> some) {
            EXPECT_EQ(first, found.size());
            found.insert(found.end(), some.begin(), some.end());
        });
        EXPECT_EQ(chunks.bytes(), pieces.size());
        auto const add_all = [&](std::size_t step) {
            std::vector<std::byte> piece(step);
            for (std::size_t offset = 0; offset < pieces.size(); offset += step)
                chunks.add(std::span(piece).first(pieces.copy(offset, piece)));
        };
        add_all(1001);
        EXPECT_EQ(chunks.has_passed_any(), !found.empty());
        for (std::size_t const step : {70'001UL, 1UL << 20, (1UL << 20) + 2}) {
            found.clear();
            chunks.begin();
            EXPECT_FALSE(chunks.has_passed_any());
            add_all(step);
            EXPECT_TRUE(chunks.finish());
            EXPECT_EQ(found, wanted) << step;
        }
    }
}

TEST(Payload, ChunksPassOnNothingOfOtherPayloads)
{
    auto const bytes = encoded("m0");
    auto const refuse = [](std::size_t, std::span<float const>) { ADD_FAILURE(); };
    for (auto const& text : {bytes, bytes + "x", std::string("text"), std::string()}) {
        ChunkDecoder chunks(layout, "w0", refuse);
        chunks.add(std::as_bytes(std::span(text)));
        EXPECT_FALSE(chunks.finish());
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
    EXPECT_THROW(Decoder(layout, "w0", few), std::logic_error);
    EXPECT_THROW((void)decode_into(few, layout, "w0", encoded(), "x"), std::logic_error);
}

}  // namespace
}  // namespace curtail::payload
