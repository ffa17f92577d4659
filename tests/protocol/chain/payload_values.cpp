// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/payload_values.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

std::string bytes_of(std::string const& head, std::vector<float> const& values)
{
    return head + std::string(store::text_of(std::as_bytes(std::span(values))));
}

// A head whose bytes all differ from their neighbours.
std::string some_head()
{
    std::string head(4096, ' ');
    std::iota(head.begin(), head.end(), '\0');
    return head;
}

std::vector<float> some_values(std::size_t count)
{
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), -7.5F);
    return values;
}

void add_in_pieces(ChunkDecoder& decoder, std::string const& bytes, std::size_t size)
{
    for (auto rest = std::as_bytes(std::span(bytes)); !rest.empty();) {
        // Without the alignment of the whole.
        auto const piece = rest.first(std::min(size, rest.size()));
        std::vector<std::byte> const copy(piece.begin(), piece.end());
        decoder.add(copy);
        rest = rest.subspan(piece.size());
    }
}

// Pieces of any size, after an attempt that broke off.
TEST(ChunkDecoder, DecodesWhileBytesArrive)
{
    auto const values = some_values(9);
    auto const bytes = bytes_of(some_head(), values);
    for (std::size_t const size : {1UL, 7UL, 4095UL, 4097UL, 1UL << 20}) {
        std::vector<float> decoded(values.size());
        ChunkDecoder decoder(PayloadForm::with_head(some_head(), values.size()), copy_to(decoded));
        decoder.add(std::as_bytes(std::span(bytes)).first(5000 % bytes.size()));
        decoder.begin();
        add_in_pieces(decoder, bytes, size);
        EXPECT_TRUE(decoder.finish()) << size;
        EXPECT_EQ(decoded, values);
        EXPECT_EQ(decoder.head(), some_head());
    }
}

TEST(ChunkDecoder, RefusesBytesOfAnotherForm)
{
    auto const values = some_values(9);
    auto const bytes = bytes_of(some_head(), values);
    auto const finish = [&](std::string const& text, std::string const& head) {
        std::vector<float> place(values.size());
        ChunkDecoder decoder(PayloadForm::with_head(head, values.size()), copy_to(place));
        decoder.add(std::as_bytes(std::span(text)));
        return decoder.finish();
    };
    EXPECT_TRUE(finish(bytes, some_head()));
    auto other = some_head();
    other.back() = 'x';
    EXPECT_FALSE(finish(bytes, other));
    EXPECT_FALSE(finish(bytes.substr(0, bytes.size() - 1), some_head()));
    EXPECT_FALSE(finish(bytes + "x", some_head()));
    EXPECT_FALSE(finish("", some_head()));
}

TEST(ChunkDecoder, MayKnowOnlyTheBeginningOfTheHead)
{
    auto const values = some_values(9);
    auto const bytes = bytes_of(some_head(), values);
    std::vector<float> decoded(values.size());
    ChunkDecoder decoder({some_head().substr(0, 9), 4096, values.size()}, copy_to(decoded));
    add_in_pieces(decoder, bytes, 5);
    EXPECT_TRUE(decoder.finish());
    EXPECT_EQ(decoded, values);
    EXPECT_EQ(decoder.head(), some_head());
    ChunkDecoder other({"another", 4096, values.size()}, copy_to(decoded));
    add_in_pieces(other, bytes, 5);
    EXPECT_FALSE(other.finish());
}

// In pieces whose size divides neither the head nor a value, and with borders of chunks.
TEST(ChunkDecoder, PassesAllValuesOnOnce)
{
    for (std::size_t const size : {1UL, 65'536UL, 65'537UL, 200'000UL}) {
        auto const wanted = some_values(size);
        auto const bytes = bytes_of(some_head(), wanted);
        auto const form = PayloadForm::with_head(some_head(), size);
        EXPECT_EQ(form.bytes(), bytes.size());
        std::vector<float> found;
        ChunkDecoder chunks(form, [&](std::size_t first, std::span<float const> some) {
            EXPECT_EQ(first, found.size());
            found.insert(found.end(), some.begin(), some.end());
        });
        add_in_pieces(chunks, bytes, 1001);
        EXPECT_EQ(chunks.has_passed_any(), !found.empty());
        for (std::size_t const step : {70'001UL, 1UL << 20, (1UL << 20) + 2}) {
            found.clear();
            chunks.begin();
            EXPECT_FALSE(chunks.has_passed_any());
            add_in_pieces(chunks, bytes, step);
            EXPECT_TRUE(chunks.finish());
            EXPECT_EQ(found, wanted) << step;
        }
    }
}

TEST(ChunkDecoder, PassesNothingOnOfOtherPayloads)
{
    auto other = some_head();
    other.front() = 'x';
    auto const bytes = bytes_of(other, some_values(9));
    auto const refuse = [](std::size_t, std::span<float const>) { ADD_FAILURE(); };
    for (auto const& text : {bytes, bytes + "x", std::string("text"), std::string()}) {
        ChunkDecoder chunks(PayloadForm::with_head(some_head(), 9), refuse);
        chunks.add(std::as_bytes(std::span(text)));
        EXPECT_FALSE(chunks.finish());
    }
}

TEST(PassInChunks, PassesAllValuesOn)
{
    auto const values = some_values(150'000);
    std::vector<float> found(values.size());
    pass_in_chunks(values, copy_to(found));
    EXPECT_EQ(found, values);
}

class ReadValues : public testing::Test {
  protected:
    protocol::PartRef put(std::string const& bytes)
    {
        std::string const name = "models/1/A.00000001.0-1/w0.h5";
        EXPECT_TRUE(store.put(*object_name({"small"}, name), store::bytes_of(bytes)));
        return {"w0", name, std::ssize(bytes), sha256(bytes)};
    }
    store::MemoryStore store;
    std::vector<float> const values{some_values(70'000)};
    PayloadForm const form{PayloadForm::with_head(some_head(), values.size())};
    std::vector<float> found{std::vector<float>(values.size())};
};

TEST_F(ReadValues, PassesTheValuesOnAndReturnsTheHead)
{
    auto const part = put(bytes_of(some_head(), values));
    auto const head = read_values({store, {"small"}}, part, form, {copy_to(found)});
    ASSERT_TRUE(head && *head);
    EXPECT_EQ(**head, some_head());
    EXPECT_EQ(found, values);
}

TEST_F(ReadValues, RestartsIfThePayloadIsLonger)
{
    auto longer = values;
    longer.push_back(1);
    auto const part = put(bytes_of(some_head(), longer));
    int restarts = 0;
    auto const head =
        read_values({store, {"small"}}, part, form, {copy_to(found), [&] { ++restarts; }});
    ASSERT_TRUE(head);
    EXPECT_FALSE(*head);
    EXPECT_LE(restarts, 1);
}

TEST_F(ReadValues, FailsIfThePayloadIsDamagedOrMissing)
{
    auto part = put(bytes_of(some_head(), values));
    part.sha256 = sha256("other");
    auto const damaged = read_values({store, {"small"}}, part, form, {copy_to(found)});
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().cause, store::ReadFailure::Cause::corrupt);
    part.name = "models/2/A.00000001.0-1/w0.h5";
    auto const missing = read_values({store, {"small"}}, part, form, {copy_to(found)});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().cause, store::ReadFailure::Cause::missing);
}

}  // namespace
}  // namespace curtail::chain
