// SPDX-License-Identifier: Apache-2.0
// How several ranks end that exchange floats over NCCL, of which one hangs or dies. Each case is an
// mpirun of curtail_test_nccl_ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "support/mpirun.hpp"
#include "support/paths.hpp"

namespace {

using curtail::test::Outcome;
using testing::AnyOf;
using testing::HasSubstr;

Outcome run_ranks(std::string const& way, int ranks)
{
    return curtail::test::run_ranks(
        {curtail::test::path_from_environment("CURTAIL_TEST_NCCL_RANKS"), way}, ranks,
        {"--enable-recovery"});
}

std::string line(int rank, std::string const& end)
{
    return "rank " + std::to_string(rank) + ": " + end;
}

TEST(NcclSession, AllRanksSucceedTogether)
{
    auto const output = run_ranks("good", 3).output;
    for (int rank = 0; rank < 3; ++rank) EXPECT_THAT(output, HasSubstr(line(rank, "good")));
}

struct Case {
    std::string way;  ///< how the last rank fails
    int ranks;
    std::string why;
};

struct NcclFailedRank : testing::TestWithParam<Case> {};

TEST_P(NcclFailedRank, EndsTheOthersWith69WithinThePatience)
{
    auto const& [way, ranks, why] = GetParam();
    auto const began = std::chrono::steady_clock::now();
    auto const output = run_ranks(way, ranks).output;
    // 0.5 s of patience and some 0.4 s to give up, on a machine that may be busy
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{10});
    int const last = ranks - 1;
    int const left = way.starts_with("one-is-killed") ? last : ranks;
    for (int rank = 0; rank < left; ++rank)
        EXPECT_THAT(output, AnyOf(HasSubstr(line(rank, "ends with 69")),
                                  HasSubstr(line(rank, "aborts with 69"))));
    EXPECT_THAT(output, HasSubstr("the ranks cannot work together: " + why));
    EXPECT_EQ(output.find(line(last, "")) == std::string::npos, left == last) << output;
}

std::string const late = "cannot sum over the ranks: a rank did not arrive within 0.5 s";

INSTANTIATE_TEST_SUITE_P(
    Ways, NcclFailedRank,
    testing::Values(Case{"one-is-killed", 2, late}, Case{"one-is-killed", 3, late},
                    Case{"one-is-killed", 4, late},
                    Case{"one-is-killed-while-others-enqueue", 3, late},
                    Case{"one-is-killed-before-a-barrier", 3,
                         "cannot pass a barrier: a rank did not arrive within 0.5 s"},
                    Case{"one-hangs", 1, late}, Case{"one-hangs", 3, late},
                    Case{"one-hangs-at-the-start", 2, "cannot "},
                    Case{"all-aborts-hang", 2, late + "; NCCL did not give up within 0.2 s"},
                    Case{"nccl-reports-that-one-is-gone", 3,
                         "cannot let the compute stream wait: NCCL: remote process exited"}),
    [](auto const& one) {
        auto name = one.param.way + "_" + std::to_string(one.param.ranks);
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

}  // namespace
