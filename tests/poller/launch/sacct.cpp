// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/sacct.hpp"

#include <gtest/gtest.h>

namespace curtail::launch {
namespace {

using End = plan::Job::End;

constexpr char const* name = "curtail.demo.SPP_TX.1f2e3d4c";

std::optional<plan::Job> find(std::string const& fields, std::string const& id = "7")
{
    return find_in_sacct(
        "6|COMPLETED|0:0|1795396000|1795396057|other\n" + fields + "|" + name + "\n", {id}, name);
}

struct Case {
    char const* fields;
    End end;
    int exit_code;
};

TEST(Sacct, TheStateSaysHowAJobEnded)
{
    for (auto const& [fields, end, exit_code] :
         {Case{"7|COMPLETED|0:0|1795396000|1795396057", End::clean, 0},
          {"7|FAILED|3:0|1795396000|1795396057", End::failed, 3},
          {"7|CANCELLED by 1000|0:15|1795396000|1795396057", End::cancelled, 143},
          {"7|CANCELLED|0:0|1795396000|1795396057", End::cancelled, 0},
          {"7|TIMEOUT|0:0|1795396000|1795396057", End::failed, 0},
          {"7|PREEMPTED|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|NODE_FAIL|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|NODE_FAIL|1:0|1795396000|1795396057", End::displaced, 1},
          {"7|BOOT_FAIL|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|REVOKED|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|OUT_OF_MEMORY|0:125|1795396000|1795396057", End::failed, 253},
          {"7|DEADLINE|0:15|1795396000|1795396057", End::failed, 143}}) {
        auto const job = find(fields);
        ASSERT_TRUE(job) << fields;
        EXPECT_EQ(job->end, end) << fields;
        EXPECT_EQ(job->exit_code, exit_code) << fields;
        EXPECT_EQ(job->started, Time{Seconds{1795396000}}) << fields;
        EXPECT_EQ(job->ended, Time{Seconds{1795396057}}) << fields;
    }
}

TEST(Sacct, AJobThatWasCancelledInTheQueueNeverStarted)
{
    for (auto const* times : {"1795396057|1795396057", "None|1795396057", "Unknown|1795396057"}) {
        auto const job = find(std::string("7|CANCELLED|0:0|") + times);
        ASSERT_TRUE(job) << times;
        EXPECT_FALSE(job->started) << times;
    }
}

TEST(Sacct, AJobThatMissesItsDeadlineInTheQueueNeverStarted)
{
    auto const job = find("7|DEADLINE|0:1|1795396057|1795396057");
    ASSERT_TRUE(job);
    EXPECT_FALSE(job->started);
    EXPECT_FALSE(job->exit_code) << "no process has ended";
}

TEST(Sacct, UnreadableTimesAndExitCodesAreUnknown)
{
    auto const job = find("7|FAILED|x|Unknown|None");
    ASSERT_TRUE(job);
    EXPECT_EQ(job->end, End::failed);
    EXPECT_FALSE(job->exit_code);
    EXPECT_FALSE(job->started);
    EXPECT_FALSE(job->ended);
    for (auto const* code : {"1:x", "1", "1:2:3", ""})
        EXPECT_FALSE(find(std::string("7|FAILED|") + code + "|1795396000|1795396057")->exit_code)
            << code;
}

TEST(Sacct, AStepOfTheJobIsNotTheJob)
{
    EXPECT_FALSE(find("7.batch|COMPLETED|0:0|1795396000|1795396057"));
    EXPECT_FALSE(find("77|COMPLETED|0:0|1795396000|1795396057"));
}

TEST(Sacct, OnlyAnEndedJobOfThisNameAndNumberCounts)
{
    EXPECT_FALSE(find("7|RUNNING|0:0|1795396000|Unknown"));
    EXPECT_FALSE(find("7|COMPLETED|0:0|1795396000|1795396057", "8"));
    EXPECT_FALSE(find("", "6")) << "job 6 has another name";
    EXPECT_FALSE(find("7|COMPLETED"));
    EXPECT_FALSE(find_in_sacct("Slurm accounting storage is disabled\n", {"7"}, name));
}

}  // namespace
}  // namespace curtail::launch
