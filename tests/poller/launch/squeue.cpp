// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/squeue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/core/files.hpp"
#include "support/paths.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using End = plan::Job::End;
using testing::HasSubstr;

JobSpec spec()
{
    JobSpec one;
    one.run = {"demo"};
    one.site = {"SPP_TX"};
    one.folder_id = "1f2e3d4c";
    return one;
}

std::string const comment = R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c",)"
                            R"("window":"2026-01-11T17:05:00Z","intent":"i7"})";

// A line of squeue.
std::string line(std::string const& fields, std::string const& text = comment)
{
    return fields + "|" + text + "|end-of-job\n";
}

TEST(Squeue, MapsEachSlurmStateToOneOfFour)
{
    auto const jobs = parse_squeue(
        spec(), line("12|RUNNING|0|1795273001|1826809001|None") +
                    line("9|PENDING|0|N/A|N/A|Resources") +
                    line("7|COMPLETED|0|1795273001|1795273061|None", "(null)") +
                    line("8|FAILED|256|1795273001|1795273061|NonZeroExitCode", "{\"a|b\":1}") +
                    line("10|COMPLETING|0|1795273001|1795273061|None", "x") +
                    line("11|CANCELLED|15|1795273061|1795273061|None", "x"));
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 6U);
    EXPECT_EQ((*jobs)[0].id.value, "7") << "oldest first";
    EXPECT_EQ((*jobs)[0].state, State::ended);
    EXPECT_EQ((*jobs)[0].end, End::clean);
    EXPECT_EQ((*jobs)[1].exit_code, 1);
    EXPECT_EQ((*jobs)[1].end, End::failed);
    EXPECT_EQ((*jobs)[2].state, State::pending);
    EXPECT_EQ((*jobs)[2].reason, "Resources");
    EXPECT_EQ((*jobs)[2].warning, "");
    EXPECT_FALSE((*jobs)[2].started);
    EXPECT_EQ((*jobs)[3].state, State::ending);
    EXPECT_EQ((*jobs)[4].exit_code, 128 + 15);
    EXPECT_FALSE((*jobs)[4].started);
    EXPECT_EQ((*jobs)[5].state, State::running);
    EXPECT_EQ((*jobs)[5].window.value, "2026-01-11T17:05:00Z");
    EXPECT_EQ((*jobs)[5].intent.value, "i7");
    EXPECT_EQ((*jobs)[5].reason, "");
    EXPECT_EQ((*jobs)[0].intent.value, "") << "a comment that is not ours";
    EXPECT_EQ(format_time(*(*jobs)[0].started), "2026-11-21T14:56:41Z");
}

TEST(Squeue, UnknownStatesCountAsRunning)
{
    auto const job_in = [](std::string const& state) {
        return parse_squeue(spec(), line("7|" + state + "|0|1795273001|1795273061|None"))
            .value()
            .at(0);
    };
    for (auto const* word : {"FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY",
                             "NODE_FAIL", "BOOT_FAIL", "PREEMPTED"})
        EXPECT_EQ(job_in(word).state, State::ended) << word;
    EXPECT_EQ(job_in("CANCELLED").end, End::cancelled);
    EXPECT_TRUE(job_in("COMPLETING").cleaning_up);
    for (auto const* word :
         {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL"})
        EXPECT_EQ(job_in(word).end, End::displaced) << word;
    for (auto const* word : {"RESV_DEL_HOLD", "REQUEUE_HOLD", "SPECIAL_EXIT"})
        EXPECT_EQ(job_in(word).state, State::pending) << word;
    EXPECT_EQ(job_in("RESV_DEL_HOLD").warning, "");
    auto const strange = job_in("BRAND_NEW");
    EXPECT_EQ(strange.state, State::running);
    EXPECT_THAT(strange.warning, HasSubstr("job 7 is in the unknown state BRAND_NEW"));
}

TEST(Squeue, WarnsOfReasonsThatMayNotResolveByThemselves)
{
    auto const waiting_for = [](std::string const& reason) {
        return parse_squeue(spec(), line("7|PENDING|0|N/A|N/A|" + reason)).value().at(0);
    };
    for (auto const* reason : {"Resources", "Priority", "Dependency", "ReqNodeNotAvail",
                               "QOSMaxJobsPerUserLimit", "BeginTime"}) {
        EXPECT_EQ(waiting_for(reason).reason, reason);
        EXPECT_EQ(waiting_for(reason).warning, "") << reason;
    }
    for (auto const* reason :
         {"PartitionTimeLimit", "JobHeldUser", "JobHeldAdmin", "BadConstraints",
          "AssocGrpCPUMinutesLimit", "DependencyNeverSatisfied", "QOSMaxWallDurationPerJobLimit",
          "InvalidQOS"})
        EXPECT_THAT(waiting_for(reason).warning,
                    HasSubstr(std::string("job 7 waits for ") + reason +
                              ", which may not resolve by itself"));
    auto const odd = waiting_for("a|b");
    EXPECT_EQ(odd.reason, "a|b");
    EXPECT_EQ(odd.intent.value, "i7");
}

TEST(Squeue, TextThatIsNotAListOfJobsIsAnError)
{
    EXPECT_FALSE(parse_squeue(spec(), "slurm_load_jobs error"));
    auto const whole = line("12|RUNNING|0|1795273001|1826809001|None") +
                       line("13|RUNNING|0|1795273001|1826809001|None");
    EXPECT_FALSE(parse_squeue(spec(), whole.substr(0, whole.size() - 5))) << "cut short";
    EXPECT_TRUE(parse_squeue(spec(), "\n").value().empty());
}

TEST(Squeue, CommentOfAnotherUserDoesNotHideOurs)
{
    auto const jobs = parse_squeue(
        spec(),
        line("11|RUNNING|0|1795273001|1826809001|None", "two\nlines|of\n\n12|RUNNING|text") +
            line("12|RUNNING|0|1795273001|1826809001|None") +
            line("13|RUNNING|0|1795273001|1826809001|None", "a|end-of-job\nand more"));
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 3U);
    EXPECT_EQ((*jobs)[1].id.value, "12");
    EXPECT_EQ((*jobs)[1].intent.value, "i7");
    EXPECT_EQ((*jobs)[0].intent.value, "");
}

TEST(Squeue, OmitsJobsOfAnotherRunSiteOrFolder)
{
    for (auto const& [ours, theirs] :
         {std::pair("\"demo\"", "\"demo-eu\""), std::pair("SPP_TX", "NEM_SA"),
          std::pair("1f2e3d4c", "00000000")}) {
        auto other = comment;
        other.replace(other.find(ours), std::strlen(ours), theirs);
        EXPECT_TRUE(parse_squeue(spec(), line("7|RUNNING|0|1795273001|1826809001|None", other))
                        .value()
                        .empty())
            << other;
    }
}

// The job with this intent among those of tests/poller/launch/fixtures; the last one if squeue ran
// twice.
plan::Job recorded(std::string const& intent)
{
    auto const text =
        read_file(test::source_path("tests/poller/launch/fixtures/slurm-22.05/squeue.txt"));
    auto const jobs = parse_squeue(spec(), text.value());
    EXPECT_TRUE(jobs) << jobs.error().message();
    plan::Job found;
    for (auto const& job : jobs.value_or(std::vector<plan::Job>{}))
        if (job.intent.value == intent) found = job;
    EXPECT_EQ(found.intent.value, intent) << "no such job";
    return found;
}

std::optional<Time> at(std::int64_t seconds)
{
    return seconds == 0 ? std::nullopt : std::optional(Time{Seconds{seconds}});
}

struct Ended {
    char const* intent;
    End end;
    std::optional<int> exit_code;
    std::int64_t started;  // 0: never
    std::int64_t ended;
};

TEST(RecordedSqueue, TellsHowEachJobEnded)
{
    for (auto const& [intent, end, exit_code, started, ended] :
         {Ended{"out-of-memory", End::failed, 253, 1795395372, 1795395373},
          {"cancelled-by-owner", End::cancelled, 128 + 15, 1795395372, 1795395378},
          {"cancelled-by-root", End::cancelled, 128 + 15, 1795395372, 1795395378},
          {"failed", End::failed, 69, 1795395372, 1795395373},
          {"completed", End::clean, 0, 1795395372, 1795395373},
          {"cancelled-while-pending", End::cancelled, 0, 0, 1795395378},
          {"node-fail", End::displaced, 128 + 15, 1795395372, 1795395378},
          {"cancelled-exits-0", End::cancelled, 0, 1795395410, 1795395414},
          {"timeout", End::failed, 128 + 15, 1795395729, 1795395818},
          {"preempted", End::displaced, 128 + 15, 1795395729, 1795395841}}) {
        auto const job = recorded(intent);
        EXPECT_EQ(job.state, State::ended) << intent;
        EXPECT_EQ(job.end, end) << intent;
        EXPECT_EQ(job.exit_code, exit_code) << intent;
        EXPECT_EQ(job.started, at(started)) << intent;
        EXPECT_EQ(job.ended, at(ended)) << intent;
        EXPECT_EQ(job.warning, "") << intent;
    }
}

TEST(RecordedSqueue, AJobThatMissesItsDeadlineInTheQueueNeverStarted)
{
    auto const job = recorded("deadline");
    EXPECT_EQ(job.state, State::ended);
    EXPECT_EQ(job.end, End::failed);
    EXPECT_EQ(job.ended, at(1795395548));
    EXPECT_FALSE(job.started);
    EXPECT_FALSE(job.exit_code) << "no process has ended";
}

TEST(RecordedSqueue, AJobInItsEpilogStillOccupiesItsNodes)
{
    auto const job = recorded("completing");
    EXPECT_EQ(job.state, State::ending);
    EXPECT_TRUE(job.cleaning_up);
    EXPECT_EQ(job.started, at(1795395410));
}

TEST(RecordedSqueue, ARequeuedJobHasNoStartUntilItRunsAgain)
{
    auto const text =
        read_file(test::source_path("tests/poller/launch/fixtures/slurm-22.05/squeue.txt"));
    auto const jobs = parse_squeue(spec(), text.value()).value();
    std::vector<plan::Job> job;
    for (auto const& one : jobs)
        if (one.intent.value == "requeued-by-scontrol") job.push_back(one);
    ASSERT_EQ(job.size(), 2U);
    EXPECT_EQ(job[0].state, State::ending);
    EXPECT_TRUE(job[0].cleaning_up);
    EXPECT_FALSE(job[0].started) << "squeue prints the time of the requeue";
    EXPECT_EQ(job[1].state, State::pending);
    EXPECT_EQ(job[1].reason, "BeginTime");
    EXPECT_EQ(job[1].warning, "");
    EXPECT_FALSE(job[1].started);
}

TEST(RecordedSqueue, WarnsOfAJobThatWasRequeuedInHeldState)
{
    auto const job = recorded("requeue-hold");
    EXPECT_EQ(job.state, State::pending);
    EXPECT_EQ(job.reason, "job requeued in held state");
    EXPECT_THAT(job.warning, HasSubstr("job 13 waits for job requeued in held state, which may "
                                       "not resolve by itself"));
}

}  // namespace
}  // namespace curtail::launch
