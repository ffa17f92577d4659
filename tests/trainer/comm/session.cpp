// SPDX-License-Identifier: Apache-2.0
// How several ranks end, as a launcher sees it. Each case is an mpirun of curtail_test_ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/mpirun.hpp"
#include "support/paths.hpp"

namespace {

using curtail::test::Outcome;
using testing::HasSubstr;

Outcome run_ranks(std::string const& way, int ranks = 3)
{
    return curtail::test::run_ranks(
        {curtail::test::path_from_environment("CURTAIL_TEST_RANKS"), way}, ranks);
}

TEST(MpiSession, AllRanksSucceedTogether)
{
    auto const [code, output] = run_ranks("good");
    EXPECT_EQ(code, 0) << output;
    for (auto const* line : {"rank 0: good", "rank 1: good", "rank 2: good"})
        EXPECT_THAT(output, HasSubstr(line));
}

TEST(MpiSession, ASingleRankGetsItsOwnError)
{
    auto const [code, output] = run_ranks("all-fail", 1);
    EXPECT_EQ(code, 78) << output;
    EXPECT_THAT(output, HasSubstr("rank 0: bad key: on every rank"));
}

TEST(MpiSession, AFailureOfAllRanksEndsThemWithoutAbort)
{
    auto const [code, output] = run_ranks("all-fail");
    EXPECT_EQ(code, 78) << output;
    EXPECT_THAT(output, HasSubstr("rank 0: logs: bad key: on every rank"));
    EXPECT_THAT(output, testing::Not(HasSubstr("MPI_ABORT")));
}

TEST(MpiSession, OtherRanksReferToAFailureAtTheEnd)
{
    auto const [code, output] = run_ranks("one-fails-at-the-end");
    EXPECT_EQ(code, 65) << output;
    EXPECT_THAT(output, HasSubstr("rank 2: logs: bad shard: on this rank"));
    EXPECT_THAT(output, HasSubstr("rank 0: rank 0 stops: rank 2 failed (see its error)"));
    EXPECT_THAT(output, testing::Not(HasSubstr("MPI_ABORT")));
}

TEST(MpiSession, AFailureWhileOthersWaitAbortsThemAll)
{
    auto const [code, output] = run_ranks("one-fails-in-the-middle");
    EXPECT_EQ(code, 65) << output;
    EXPECT_THAT(output, HasSubstr("rank 2: logs: bad shard: on this rank"));
}

TEST(MpiSession, AnExceptionInOneRankAbortsThemAll)
{
    auto const [code, output] = run_ranks("one-throws");
    EXPECT_EQ(code, 70) << output;
    EXPECT_THAT(output, HasSubstr("rank 2: logs: internal error: a broken promise"));
}

TEST(MpiSession, ALateRankEndsTheJob)
{
    auto const [code, output] = run_ranks("one-is-late");
    EXPECT_EQ(code, 69) << output;
    EXPECT_THAT(output, HasSubstr("logs: the ranks cannot work together: cannot pass a barrier: "
                                  "a rank did not arrive within 1.5 s"));
}

TEST(MpiSession, AStopEndsTheWaitForALateRank)
{
    auto const [code, output] = run_ranks("one-is-late-in-a-stop");
    EXPECT_EQ(code, 69) << output;
    EXPECT_THAT(output, HasSubstr("a rank did not arrive in the time for a stop"));
}

TEST(MpiSession, TheTimeInWhichTheJobWasSuspendedDoesNotCount)
{
    auto const [code, output] = run_ranks("all-are-suspended");
    EXPECT_EQ(code, 0) << output;
}

// Exit handlers, e.g. those of a library for GPUs, could wait forever.
TEST(MpiSession, ARankThatIsStuckInALibraryEndsWithoutExitHandlers)
{
    auto const [code, output] = run_ranks("all-are-stuck");
    EXPECT_EQ(code, 69) << output;
    EXPECT_THAT(output, HasSubstr("logs: the ranks cannot work together: "
                                  "the device does not stop"));
    EXPECT_THAT(output, testing::Not(HasSubstr("exits in the ordinary way")));
}

TEST(MpiSession, AFailureOfMpiAtTheEndIsTemporary)
{
    auto const [code, output] = run_ranks("mpi-breaks-at-the-end");
    EXPECT_EQ(code, 75) << output;
    EXPECT_THAT(output,
                HasSubstr("rank 2: logs: the ranks cannot work together: cannot end together"));
}

}  // namespace
