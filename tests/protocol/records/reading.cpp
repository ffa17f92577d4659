// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/reading.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace curtail::protocol {
namespace {

// The newest number that the search finds in a chain of `length` commits, and its reads.
struct KnownContribution {
    std::int64_t newest{};
    int reads{};
};
KnownContribution search(std::int64_t length)
{
    CommitNumber found;
    CommitNumber missing;
    for (int reads = 1;; ++reads) {
        auto const number = next_to_read(found, missing);
        if (number.value <= length) found = number;
        else if (number == found.next()) return {found.value, reads};
        else missing = number;
    }
}

TEST(NextToRead, FindsTheNewestCommitOfAnyChain)
{
    for (std::int64_t length = 0; length <= 1100; ++length)
        EXPECT_EQ(search(length).newest, length);
}

TEST(NextToRead, ReadsOnlyLogarithmicallyMany)
{
    for (std::int64_t length = 1; length <= 100'000; length = length * 3 / 2 + 1)
        EXPECT_LE(search(length).reads, 2 * std::bit_width(static_cast<std::uint64_t>(length)) + 2)
            << length;
}

TEST(NextToRead, GoesForwardWhenTheMissingCommitAppears)
{
    EXPECT_EQ(next_to_read({7}, {8}), CommitNumber{8});
}

TEST(IsSuspect, AfterALongSilenceAlone)
{
    Params const params;
    Time const now = from_unix_ms(1'795'270'000'000);
    Member member;
    member.seen = now - params.drop_after - params.skew;
    EXPECT_FALSE(is_suspect(params, member, now));
    EXPECT_TRUE(is_suspect(params, member, now + Millis{1}));
    member.seen = now;
    member.missed = 1'000;
    EXPECT_FALSE(is_suspect(params, member, now)) << "a slow member misses merges";
}

}  // namespace
}  // namespace curtail::protocol
