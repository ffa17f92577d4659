// SPDX-License-Identifier: Apache-2.0
#include "base/core/network.hpp"

#include <gtest/gtest.h>

namespace curtail {
namespace {

TEST(Network, AddressesAreParsedStrictly)
{
    EXPECT_EQ(Ipv4::parse("10.1.0.7")->value, 0x0a010007U);
    EXPECT_EQ(Ipv4::parse("255.255.255.255")->text(), "255.255.255.255");
    for (auto const* text :
         {"", "10", "10.1.0", "10.1.0.7.1", "10.1.0.256", "10.1.0.07", "10.1.0.-1", "10.1.0. 7",
          " 10.1.0.7", "10.1.0.7 ", "::1", "a.b.c.d", "10.1..7"})
        EXPECT_FALSE(Ipv4::parse(text)) << text;
}

TEST(Network, ContainsTheAddressesThatBeginWithItsBits)
{
    auto const network = Network::parse("10.1.0.0/16");
    ASSERT_TRUE(network);
    EXPECT_EQ(network->text(), "10.1.0.0/16");
    for (auto const* text : {"10.1.0.0", "10.1.255.255"})
        EXPECT_TRUE(network->contains(*Ipv4::parse(text))) << text;
    for (auto const* text : {"10.0.255.255", "10.2.0.0", "0.0.0.0", "255.255.255.255"})
        EXPECT_FALSE(network->contains(*Ipv4::parse(text))) << text;
    EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(*Ipv4::parse("255.0.0.1")));
    auto const one = Network::parse("10.1.0.7");
    EXPECT_TRUE(one->contains(*Ipv4::parse("10.1.0.7")));
    EXPECT_FALSE(one->contains(*Ipv4::parse("10.1.0.6")));
}

TEST(Network, OtherTextsAreNone)
{
    for (auto const* text : {"", "/", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/016",
                             "10.1.0.0/16/1", "10.1.0.7/16", "10.1/16", "10.1.0.0 /16"})
        EXPECT_FALSE(Network::parse(text)) << text;
}

TEST(PortRange, IsParsedStrictly)
{
    auto const range = PortRange::parse("50000-50100");
    ASSERT_TRUE(range);
    EXPECT_EQ(range->text(), "50000-50100");
    EXPECT_EQ(range->first, 50000);
    EXPECT_EQ(range->last, 50100);
    EXPECT_TRUE(PortRange::parse("7-7"));
    for (auto const* text : {"", "-", "50000", "50000-", "-50100", "50100-50000", "0-10", "1-65536",
                             "50000-50100-50200", "50000,50100", "5 - 7"})
        EXPECT_FALSE(PortRange::parse(text)) << text;
}

}  // namespace
}  // namespace curtail
