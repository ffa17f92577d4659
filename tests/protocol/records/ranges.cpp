// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/ranges.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "protocol/records/names.hpp"

namespace curtail::protocol {
namespace {

std::set<std::int64_t> blocks_of(Ranges const& ranges)
{
    std::set<std::int64_t> blocks;
    for (auto const& r : ranges.list())
        for (auto b = r.begin; b < r.end; ++b) blocks.insert(b);
    return blocks;
}

Ranges random_ranges(std::mt19937& random)
{
    Ranges r;
    for (int i = 0; i < 5; ++i) {
        auto const begin = static_cast<std::int64_t>(random() % 30);
        auto const more = Ranges::between(begin, begin + static_cast<std::int64_t>(random() % 8));
        if (random() % 3 == 0) r -= more;
        else r += more;
    }
    return r;
}

TEST(Ranges, AreSetsOfBlocksWithOneForm)
{
    std::mt19937 random(11);
    for (int i = 0; i < 3000; ++i) {
        auto const a = random_ranges(random);
        auto const b = random_ranges(random);
        auto const x = blocks_of(a);
        auto const y = blocks_of(b);
        std::set<std::int64_t> both = x, common, only;
        both.insert(y.begin(), y.end());
        for (auto const n : x) (y.contains(n) ? common : only).insert(n);
        ASSERT_EQ(blocks_of(a + b), both) << i;
        ASSERT_EQ(blocks_of(a & b), common) << i;
        ASSERT_EQ(blocks_of(a - b), only) << i;
        ASSERT_EQ(a.contains(b), common == y) << i;
        ASSERT_EQ(a.overlaps(b), !common.empty()) << i;
        ASSERT_EQ(a.count(), static_cast<std::int64_t>(x.size())) << i;
        ASSERT_EQ((a - b) + (a & b), a) << "equal sets must be equal values, case " << i;
        auto const read = ranges_from_json(a.to_json(), "test");
        ASSERT_TRUE(read && *read == a) << i;
        auto const three = a.lowest(3);
        ASSERT_EQ(three.count(), std::min<std::int64_t>(3, a.count())) << i;
        ASSERT_TRUE(a.contains(three)) << i;
        bool const lowest =
            a.count() <= 3 || *blocks_of(three).rbegin() < *blocks_of(a - three).begin();
        ASSERT_TRUE(lowest) << i;
    }
}

TEST(Ranges, AcceptOnlyTheirOneForm)
{
    auto const good = [](char const* text) {
        return ranges_from_json(*json::parse(text, "t"), "t").has_value();
    };
    EXPECT_TRUE(good("[]"));
    EXPECT_TRUE(good("[[0,512],[600,640]]"));
    for (auto const* bad :
         {"{}", "[[0]]", "[[0,1,2]]", "[[1,1]]", "[[2,1]]", "[[-1,4]]", "[[0,4],[4,5]]",
          "[[5,6],[0,1]]", "[[0,4],[2,6]]", "[[0,9007199254740993]]", "[[\"0\",1]]", "[[0,1.5]]"})
        EXPECT_FALSE(good(bad)) << bad;
}

TEST(Ranges, AreReadUpToTheirLimit)
{
    json::Array list;
    for (std::size_t i = 0; i < ranges_limit; ++i)
        list.emplace_back(
            json::Array{static_cast<std::int64_t>(3 * i), static_cast<std::int64_t>(3 * i + 1)});
    EXPECT_TRUE(ranges_from_json(list, "t"));
    list.emplace_back(
        json::Array{3 * std::int64_t{ranges_limit}, 3 * std::int64_t{ranges_limit} + 1});
    EXPECT_FALSE(ranges_from_json(list, "t"));
}

TEST(Names, AreParsedStrictly)
{
    auto const id = member_id({{"NEM_SA"}, 0x1f}, {12});
    EXPECT_EQ(id.value, "NEM_SA.0000001f.12");
    EXPECT_EQ(member_parts(id).process.nonce, 0x1fU);
    EXPECT_EQ(member_parts(id).admitted, CommitNumber{12});
    for (auto const* bad : {"", "A", "A.0000001f", "A.0000001F.1", "A.1f.1", "A.0000001f.01",
                            "A.0000001f.-1", "A.0000001f.1.2", "../A.0000001f.1", "A .0000001f.1"})
        EXPECT_FALSE(parse_member_id(bad)) << bad;
    EXPECT_EQ(commit_name({7}), "commits/00000007.json");
    EXPECT_EQ(header_name(id, {3}), "contrib/NEM_SA.0000001f.12/3.json");
    EXPECT_EQ(delta_name({5}, id, {3}), "deltas/5/NEM_SA.0000001f.12/3/d0.h5");
    EXPECT_EQ(lease_name({5}, 2), "merge/5/2.json");
    auto const model = model_name({6}, id, 4, "w0");
    EXPECT_EQ(model, "models/6/NEM_SA.0000001f.12-4/w0.h5");
    EXPECT_TRUE(is_model_name(model, {6}, "w0"));
    EXPECT_FALSE(is_model_name(model, {7}, "w0"));
    EXPECT_FALSE(is_model_name("models/6/../w0.h5", {6}, "w0"));
    EXPECT_FALSE(is_model_name("models/6/x-4/w0.h5", {6}, "w0"));
}

TEST(Ranges, LowestWithinLimitsTheRangesOfAUnion)
{
    Ranges even;
    for (std::int64_t n = 0; n < 40; n += 2) even += {{n, n + 1}};
    EXPECT_EQ(lowest_within(even, {}, 2), (Ranges{{0, 1}, {2, 3}}));
    EXPECT_EQ(lowest_within(even, {{1, 2}, {3, 4}}, 2), (Ranges{{0, 1}, {2, 3}, {4, 5}, {6, 7}}))
        << "these blocks fill gaps";
    EXPECT_EQ(lowest_within({{5, 9}}, {{0, 5}}, 1), (Ranges{{5, 9}}));
    EXPECT_TRUE(lowest_within({{6, 9}}, {{0, 5}}, 1).empty());
    EXPECT_TRUE(lowest_within({{6, 9}}, {{0, 1}, {2, 3}, {4, 5}}, 2).empty());
}

}  // namespace
}  // namespace curtail::protocol
