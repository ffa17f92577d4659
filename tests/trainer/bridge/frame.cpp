// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/frame.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace curtail::bridge {
namespace {

TEST(Frame, IsDecodedAsItWasEncoded)
{
    for (auto const type :
         {FrameType::hello, FrameType::request, FrameType::reply, FrameType::data})
        for (std::uint64_t const number :
             {std::uint64_t{0}, std::uint64_t{0x0123456789abcdef}, ~std::uint64_t{0}}) {
            FrameHead const head{type, ~number, number};
            auto const bytes = encode(head);
            auto const frame = decode(bytes);
            ASSERT_TRUE(frame);
            EXPECT_EQ(frame->head, head);
            EXPECT_TRUE(frame->body.empty());
        }
}

TEST(Frame, IsLittleEndian)
{
    auto const bytes = encode({FrameType::data, 0x0201, 3});
    EXPECT_EQ(bytes[0], std::byte{4});
    EXPECT_EQ(bytes[1], std::byte{1});
    EXPECT_EQ(bytes[2], std::byte{2});
    EXPECT_EQ(bytes[9], std::byte{3});
}

TEST(Frame, OtherBytesAreNone)
{
    for (std::size_t const size : {std::size_t{0}, head_bytes - 1, largest_frame + 1}) {
        std::vector<std::byte> bytes(size, std::byte{1});
        EXPECT_FALSE(decode(bytes)) << size;
    }
    std::vector<std::byte> bytes(largest_frame, std::byte{1});
    EXPECT_TRUE(decode(bytes));
    for (int const type : {0, 6, 255}) {
        bytes[0] = static_cast<std::byte>(type);
        EXPECT_FALSE(decode(bytes)) << type;
    }
}

}  // namespace
}  // namespace curtail::bridge
