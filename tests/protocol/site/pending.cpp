// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/pending.hpp"

#include <gmock/gmock.h>

namespace curtail::protocol::site {
namespace {

using testing::ElementsAre;

// Each entry of `all` is a contribution: its member, the model on which it began, and its ranges.
std::vector<std::string> left_after(int postponed)
{
    struct One {
        char const* member;
        std::int64_t base;
        std::int64_t ranges;
    };
    PendingContributions pending;
    for (auto const& one : {One{"old and wide", 3, 5}, One{"new and narrow", 4, 1},
                            One{"new and wide", 4, 3}, One{"old and narrow", 3, 2}}) {
        KnownContribution known;
        known.header.member = {one.member};
        known.header.seq = {1};
        known.header.base_round = {one.base};
        for (std::int64_t n = 0; n < one.ranges; ++n)
            known.header.ranges += Ranges::between(2 * n, 2 * n + 1);
        pending.add({known.header.member, known.header.seq}, known);
    }
    for (int i = 0; i < postponed; ++i) EXPECT_TRUE(pending.postpone_latest());
    std::vector<std::string> left;
    for (auto const& known : pending.all()) left.push_back(known.header.member.value);
    return left;
}

// If the widest one were first, it would be left out of each merge.
TEST(Pending, LeavesOutTheNewestFirstAndOfTheseTheWidest)
{
    EXPECT_THAT(left_after(1), ElementsAre("new and narrow", "old and narrow", "old and wide"));
    EXPECT_THAT(left_after(2), ElementsAre("old and narrow", "old and wide"));
    EXPECT_THAT(left_after(3), ElementsAre("old and narrow"));
}

}  // namespace
}  // namespace curtail::protocol::site
