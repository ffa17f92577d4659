// SPDX-License-Identifier: Apache-2.0
#include "run/journal/piece.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "fixture.hpp"

namespace curtail::journal {
namespace {

using testing::HasSubstr;

PieceHeader header_of(std::string_view content)
{
    PieceHeader header;
    header.number = {7};
    header.continuation = 2;
    header.first = {5};
    header.range = {100, 100 + std::ssize(content)};
    header.content = sha256(content);
    header.previous = sha256("the piece before");
    header.time = at(1);
    header.more = true;
    header.clock = TimeScale{at(2), at(3), 300.25};
    return header;
}

Result<Piece> decode_seventh(std::string_view bytes) { return decode(stream_id, {7}, bytes); }

// The piece with one key of its header replaced, and with a valid digest of the header.
std::string with(char const* key, json::Value value, std::string const& content = "a\nb\n")
{
    auto const bytes = encode(stream_id, header_of("a\nb\n"), "a\nb\n");
    auto object = *json::parse(bytes.substr(0, bytes.find('\n')), "x")->as_object();
    object.erase("self");
    object.set(key, std::move(value));
    object.set("self", sha256(json::canonical(object)).hex());
    return json::canonical(object) + "\n" + content;
}

TEST(Piece, IsReadAsItWasWritten)
{
    auto const header = header_of("a\nb\n");
    auto const bytes = encode(stream_id, header, "a\nb\n");
    auto const piece = decode_seventh(bytes);
    ASSERT_TRUE(piece) << piece.error().message();
    EXPECT_EQ(piece->tip.header, header);
    EXPECT_EQ(piece->tip.digest, sha256(bytes));
    EXPECT_EQ(piece->content, "a\nb\n");
}

TEST(Piece, HasTheNameOfItsStreamAndNumber)
{
    EXPECT_EQ(piece_name(stream_id, {7})->text(), "runs/demo/journal/A/metrics/00000007.jsonl");
    EXPECT_EQ(piece_name(stream_id, last_piece.next()).error().code, ExitCode::protocol);
}

TEST(Piece, NoFlippedBitIsAccepted)
{
    auto const bytes = encode(stream_id, header_of("a\nb\n"), "a\nb\n");
    for (std::size_t i = 0; i < bytes.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
            auto const piece = decode_seventh(damaged);
            ASSERT_FALSE(piece) << "byte " << i << ", bit " << bit;
            EXPECT_EQ(piece.error().code, ExitCode::protocol);
        }
}

TEST(Piece, NoTruncatedPieceIsAccepted)
{
    auto const bytes = encode(stream_id, header_of("a\nb\n"), "a\nb\n");
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_seventh(bytes.substr(0, size))) << size;
    EXPECT_FALSE(decode_seventh(bytes + "c"));
}

TEST(Piece, OfAnotherStreamOrNumberIsRefused)
{
    auto const bytes = encode(stream_id, header_of("a\nb\n"), "a\nb\n");
    EXPECT_FALSE(decode(stream_id, {8}, bytes));
    EXPECT_FALSE(decode({{"other"}, {"A"}, Stream::metrics}, {7}, bytes));
    EXPECT_FALSE(decode({{"demo"}, {"B"}, Stream::metrics}, {7}, bytes));
    EXPECT_FALSE(decode({{"demo"}, {"A"}, Stream::trainer}, {7}, bytes));
}

TEST(Piece, HeaderWithImpossibleValuesIsRefused)
{
    ASSERT_TRUE(decode_seventh(with("format", 1))) << "the helper makes valid pieces";
    auto const deep = json::Array{json::Array{json::Array{json::Array{}}}};
    for (auto const& [key, value] : std::vector<std::pair<char const*, json::Value>>{
             {"format", 2},
             {"number", 6},
             {"number", "7"},
             {"continuation", 0},
             {"continuation", 6},
             {"first", 8},
             {"first", 0},
             {"from", -4},
             {"from", 104},
             {"to", 100},
             {"to", 105},
             {"to", 9'007'199'254'740'992},
             {"sha256", "00"},
             {"previous", std::string(64, 'G')},
             {"time", -1},
             {"time", 253'402'300'800'000},
             {"more", 1},
             {"clock", 3},
             {"clock", json::Object{{"origin", 0}, {"real_origin", 0}, {"factor", "0"}}},
             {"clock",
              json::Object{{"origin", 0}, {"real_origin", 0}, {"factor", "7ff0000000000000"}}},
             {"clock",
              json::Object{{"origin", 0}, {"real_origin", 0}, {"factor", "c072c00000000000"}}},
             {"extra", 1},
             {"extra", deep},
         }) {
        auto const piece = decode_seventh(with(key, value));
        ASSERT_FALSE(piece) << key << " " << json::to_string(value);
        EXPECT_THAT(piece.error().message(), HasSubstr("journal/A/metrics/00000007.jsonl"));
    }
}

TEST(Piece, OfTooManyBytesIsRefused)
{
    std::string const content(static_cast<std::size_t>(content_limit) + 1, '\n');
    EXPECT_FALSE(decode_seventh(encode(stream_id, header_of(content), content)));
    std::string const fits(static_cast<std::size_t>(content_limit), '\n');
    EXPECT_TRUE(decode_seventh(encode(stream_id, header_of(fits), fits)));
}

TEST(Piece, WithALongFirstLineIsRefusedUnread)
{
    std::string const nested(static_cast<std::size_t>(header_limit) * 10, '[');
    EXPECT_FALSE(decode_seventh(nested + "\n"));
    EXPECT_FALSE(decode_seventh("\n"));
    EXPECT_FALSE(decode_seventh("[1]\nx"));
    EXPECT_FALSE(decode_seventh("{\"a\":[1.5]}\nx"));
}

TEST(Piece, TipIsReadAsItWasWritten)
{
    Tip const tip{header_of("a\n"), sha256("x")};
    auto const text = encode_tip(stream_id, tip);
    EXPECT_EQ(decode_tip(stream_id, text), tip);
    EXPECT_EQ(decode_tip({{"demo"}, {"B"}, Stream::metrics}, text), std::nullopt);
    EXPECT_EQ(decode_tip(stream_id, text.substr(1)), std::nullopt);
    EXPECT_EQ(decode_tip(stream_id, ""), std::nullopt);
    EXPECT_EQ(decode_tip(stream_id, "{}\n\n"), std::nullopt);
}

}  // namespace
}  // namespace curtail::journal
