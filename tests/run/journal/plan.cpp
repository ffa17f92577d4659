// SPDX-License-Identifier: Apache-2.0
#include "run/journal/plan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "fixture.hpp"

namespace curtail::journal {
namespace {

TEST(JournalPlan, PieceEndsAtTheLastLineEndThatFits)
{
    struct Case {
        std::string unread;
        std::size_t cut;
    };
    for (auto const& [unread, cut] : std::vector<Case>{{"", 0},
                                                       {"abc", 0},
                                                       {"\n", 1},
                                                       {"abc\n", 4},
                                                       {"abc\nde", 4},
                                                       {"abc\nde\nfg\nhi\n", 10},
                                                       {"abcdefghi\n", 10},
                                                       {"abcdefghij\n", 10},
                                                       {"abcdefghij", 10},
                                                       {"abcdefghi", 0}})
        EXPECT_EQ(next_cut(unread, 10), cut) << unread;
}

TEST(JournalPlan, CommonPartEndsAtALineEnd)
{
    EXPECT_EQ(common_lines("", ""), 0U);
    EXPECT_EQ(common_lines("a\nb\n", "a\nb\n"), 4U);
    EXPECT_EQ(common_lines("a\nbc\n", "a\nbd\n"), 2U);
    EXPECT_EQ(common_lines("a\nb", "a\nb\nc\n"), 2U);
    EXPECT_EQ(common_lines("ab\n", "ac\n"), 0U);
}

TEST(JournalPlan, NextPieceContinuesTheNewestOne)
{
    auto const first = next_header({}, {}, "a\n", false, {}, at(1));
    EXPECT_EQ(first.number, PieceNumber{1});
    EXPECT_EQ(first.first, PieceNumber{1});
    EXPECT_EQ(first.continuation, 1);
    EXPECT_EQ(first.range, (ByteRange{0, 2}));
    EXPECT_FALSE(first.previous);
    StreamEnd const end{{1}, sha256("one"), Tip{first, sha256("one")}};
    auto const second = next_header(end, {2, false}, "b\nc\n", true, {}, at(2));
    EXPECT_EQ(second.number, PieceNumber{2});
    EXPECT_EQ(second.first, PieceNumber{1});
    EXPECT_EQ(second.continuation, 1);
    EXPECT_EQ(second.range, (ByteRange{2, 6}));
    EXPECT_EQ(second.previous, sha256("one"));
    auto const other = next_header(end, {0, true}, "x\n", true, {}, at(2));
    EXPECT_EQ(other.first, PieceNumber{2});
    EXPECT_EQ(other.continuation, 2);
    EXPECT_EQ(other.previous, sha256("one"));
}

TEST(JournalPlan, SearchFindsTheNewestPieceWithFewRequests)
{
    for (std::int64_t newest : {0, 1, 2, 3, 4, 7, 8, 9, 100, 12'345})
        for (std::int64_t known : {std::int64_t{0}, newest / 2, newest - 1, newest}) {
            if (known < 0) continue;
            int requests = 0;
            auto const found = find_newest(
                [&](PieceNumber number) -> Result<bool> {
                    ++requests;
                    EXPECT_GT(number.value, known) << "known to exist";
                    return number.value <= newest;
                },
                {known});
            EXPECT_EQ(found->value, newest) << "from " << known;
            EXPECT_LE(requests, 30);
            if (known == newest) { EXPECT_EQ(requests, 1); }
        }
}

TEST(JournalPlan, SearchEndsAtTheGreatestNumber)
{
    auto const found =
        find_newest([](PieceNumber number) -> Result<bool> { return number <= last_piece; });
    EXPECT_EQ(*found, last_piece);
    EXPECT_FALSE(find_newest(
        [](PieceNumber) -> Result<bool> { return fail(ExitCode::temporary, "no", "answer"); }));
}

}  // namespace
}  // namespace curtail::journal
