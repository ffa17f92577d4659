// SPDX-License-Identifier: Apache-2.0
#include "base/compress/gzip.hpp"

#include <gtest/gtest.h>

namespace curtail {
namespace {

TEST(Gzip, UnpacksToTheSameText)
{
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919 % 1000);
    auto const packed = gzip(text);
    EXPECT_LT(packed.size(), text.size());
    EXPECT_EQ(gunzip(packed, text.size()), text);
    EXPECT_EQ(gunzip(packed, 2 * text.size()), text);
    EXPECT_EQ(gunzip(gzip(""), 0), "");
}

TEST(Gzip, UnpacksNoMoreThanAllowed)
{
    std::string const bomb(1'000'000, 'x');
    EXPECT_FALSE(gunzip(gzip(bomb), bomb.size() - 1));
    EXPECT_FALSE(gunzip(gzip("x"), 0));
}

TEST(Gzip, UnpacksNothingThatIsDamaged)
{
    auto const packed = gzip("a text with some words, and with some words again");
    for (std::size_t size = 0; size < packed.size(); ++size)
        EXPECT_FALSE(gunzip(packed.substr(0, size), 1000)) << size;
    EXPECT_FALSE(gunzip(packed + "x", 1000));
    EXPECT_FALSE(gunzip(packed + packed, 1000));
    for (std::size_t i = 10; i < packed.size(); ++i) {  // the header has bytes that say nothing
        auto changed = packed;
        changed[i] = static_cast<char>(changed[i] ^ 0x55);
        EXPECT_FALSE(gunzip(changed, 1000)) << i;
    }
    EXPECT_FALSE(gunzip("no gzip at all", 1000));
}

TEST(Gzip, HeaderDependsOnNeitherTimeNorSystem)
{
    auto const header = gzip("text").substr(0, 10);
    // RFC 1952: magic number, deflate, no flags, no time, best compression, unknown system.
    EXPECT_EQ(header, std::string("\x1f\x8b\x08\0\0\0\0\0\x02\xff", 10));
}

}  // namespace
}  // namespace curtail
