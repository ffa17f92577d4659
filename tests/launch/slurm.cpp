#include "launch/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using testing::HasSubstr;
using testing::Not;

JobOrder order(std::filesystem::path const& folder)
{
    JobOrder one;
    one.run = {"demo"};
    one.site = {"SPP_TX"};
    one.run_file = "/run.json";
    one.folder = folder / "100%_site";
    one.build = "/opt/curtail/build/release";
    one.ranks = 2;
    one.how.slurm_conf = "/dev/null";
    one.how.partition = "train";
    one.how.script = "/opt/curtail/slurm/site_train.sh";
    one.how.command_deadline = Millis(5'000);
    return one;
}

std::string const comment = R"({"run":"demo","site":"SPP_TX","window":"2026-01-11T17:05:00Z","intent":"i7"})";

TEST(Squeue, EachStateIsOneOfFour)
{
    auto const jobs = parse_squeue(order("/"), "12|RUNNING|0|1795273001|1826809001|" + comment +
                                                   "\n"
                                                   "9|PENDING|0|N/A|N/A|" +
                                                   comment +
                                                   "\n"
                                                   "7|COMPLETED|0|1795273001|1795273061|(null)\n"
                                                   "8|FAILED|256|1795273001|1795273061|{\"a|b\":1}\n"
                                                   "10|COMPLETING|0|1795273001|1795273061|x\n"
                                                   "11|CANCELLED|15|1795273061|1795273061|x\n");
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 6U);
    EXPECT_EQ((*jobs)[0].id.value, "7") << "oldest first";
    EXPECT_EQ((*jobs)[0].state, State::ended);
    EXPECT_EQ((*jobs)[1].exit_code, 1);
    EXPECT_EQ((*jobs)[2].state, State::pending);
    EXPECT_FALSE((*jobs)[2].started);
    EXPECT_EQ((*jobs)[3].state, State::ending);
    EXPECT_EQ((*jobs)[4].exit_code, 128 + 15);
    EXPECT_FALSE((*jobs)[4].started);
    EXPECT_EQ((*jobs)[5].state, State::running);
    EXPECT_EQ((*jobs)[5].window.value, "2026-01-11T17:05:00Z");
    EXPECT_EQ((*jobs)[5].intent.value, "i7");
    EXPECT_EQ((*jobs)[0].intent.value, "") << "a comment that is not ours";
    EXPECT_EQ(format_time(*(*jobs)[0].started), "2026-11-21T14:56:41Z");
}

TEST(Squeue, WhatIsNotAJobLineIsRefused)
{
    EXPECT_FALSE(parse_squeue(order("/"), "slurm_load_jobs error"));
    EXPECT_FALSE(parse_squeue(order("/"), "x|RUNNING|0|1|2|c"));
    EXPECT_TRUE(parse_squeue(order("/"), "\n").value().empty());
}

TEST(Squeue, CommentOfAnotherRunIsNotOurs)
{
    auto other = order("/");
    other.run = {"other"};
    EXPECT_EQ(read_comment(other, comment).intent.value, "");
    EXPECT_EQ(read_comment(order("/"), comment_text(order("/"), {{"w"}, {"i"}})).window.value, "w");
}

/// Stand-ins for Slurm's commands that write down how they were called.
class FakeSlurm : public testing::Test {
  protected:
    void SetUp() override
    {
        path_ = std::getenv("PATH");
        setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
        setenv("CURTAIL_PLANTED_SECRET", "hunter2", 1);
    }
    void TearDown() override
    {
        setenv("PATH", path_.c_str(), 1);
        unsetenv("CURTAIL_PLANTED_SECRET");
    }
    void answer(std::string const& program, std::string const& body)
    {
        auto const called = (folder_ / (program + ".called")).string();
        ASSERT_TRUE(write_file(folder_ / program, "#!/bin/bash\n{ printf '%s\\n' \"$@\"; env; } > " + called + "\n" + body + "\n", 0755));
    }
    std::string called(std::string const& program) { return read_file(folder_ / (program + ".called")).value_or("not called"); }

    test::TemporaryFolder folder_;
    std::string path_;
};

TEST_F(FakeSlurm, SubmissionCarriesWindowAndIntentAndNoSecret)
{
    answer("sbatch", "echo '42;cluster'");
    auto const job = SlurmLauncher(order(folder_.path())).submit({"2026-01-11T17:05:00Z"}, {"i7"});
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_EQ(job->value, "42");
    auto const seen = called("sbatch");
    for (auto const& word :
         {std::string("--job-name=curtail-demo-SPP_TX\n"), "--comment=" + comment + "\n", std::string("--dependency=singleton\n"),
          std::string("100%%_site/job-%j.log\n"), std::string("--ntasks=2\n"), std::string("--partition=train\n"),
          std::string("/opt/curtail/slurm/site_train.sh\n/run.json\nSPP_TX\n"), std::string("SLURM_CONF=/dev/null\n"),
          std::string("--export=ALL\n"), std::string("CURTAIL_BUILD=/opt/curtail/build/release\n")})
        EXPECT_THAT(seen, HasSubstr(word));
    EXPECT_THAT(seen, Not(HasSubstr("hunter2")));
}

TEST_F(FakeSlurm, RefusalIsCertainAndSilenceIsNot)
{
    SlurmLauncher launcher(order(folder_.path()));
    answer("sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2; exit 1");
    auto const refused = launcher.submit({"w"}, {"i"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("Invalid partition name specified"));
    for (auto const* silence :
         {"echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1",
          "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1", "kill -9 $$", "exit 1", "echo hello"}) {
        answer("sbatch", silence);
        auto const unknown = launcher.submit({"w"}, {"i"});
        ASSERT_FALSE(unknown);
        EXPECT_EQ(unknown.error().code, ExitCode::temporary) << silence;
    }
}

TEST_F(FakeSlurm, MissingConfigurationIsSaidAtOnce)
{
    auto other = order(folder_.path());
    other.how.slurm_conf = folder_ / "none/slurm.conf";
    answer("squeue", "");
    auto const jobs = SlurmLauncher(other).jobs();
    ASSERT_FALSE(jobs);
    EXPECT_THAT(jobs.error().message(), HasSubstr("none/slurm.conf is not there; is the cluster up?"));
    EXPECT_EQ(called("squeue"), "not called");
}

TEST_F(FakeSlurm, DeadlineHoldsForEachCommand)
{
    auto slow = order(folder_.path());
    slow.how.command_deadline = Millis(300);
    SlurmLauncher launcher(slow);
    for (auto const* program : {"sbatch", "squeue", "scancel"}) answer(program, "sleep 60");
    EXPECT_EQ(launcher.submit({"w"}, {"i"}).error().code, ExitCode::temporary);
    EXPECT_EQ(launcher.jobs().error().code, ExitCode::temporary);
    EXPECT_EQ(launcher.drain({"1"}).error().code, ExitCode::temporary);
}

TEST_F(FakeSlurm, StopsSayWhatTheyMean)
{
    SlurmLauncher launcher(order(folder_.path()));
    answer("scancel", "");
    ASSERT_TRUE(launcher.drain({"5"}));
    EXPECT_THAT(called("scancel"), testing::StartsWith("--batch\n--signal=USR1\n5\n"));
    ASSERT_TRUE(launcher.cancel({"5"}, true));
    EXPECT_THAT(called("scancel"), testing::StartsWith("--state=PENDING\n5\n"));
    ASSERT_TRUE(launcher.cancel({"5"}, false));
    EXPECT_THAT(called("scancel"), testing::StartsWith("5\n"));
    answer("scancel", "echo 'scancel: error: Kill job error on job id 5: Invalid job id specified' >&2; exit 1");
    EXPECT_TRUE(launcher.drain({"5"})) << "a job that is gone has stopped";
    answer("scancel", "echo 'scancel: error: Kill job error on job id 5: Access/permission denied' >&2; exit 1");
    EXPECT_FALSE(launcher.drain({"5"}));
}

TEST_F(FakeSlurm, ListIsOfThisRunSiteAndUser)
{
    answer("squeue", "echo '12|RUNNING|0|1795273001|1826809001|" + comment + "'");
    auto const jobs = SlurmLauncher(order(folder_.path())).jobs();
    ASSERT_TRUE(jobs) << jobs.error().message();
    EXPECT_EQ(jobs->at(0).id.value, "12");
    EXPECT_THAT(called("squeue"), HasSubstr("--me\n--states=all\n--name=curtail-demo-SPP_TX\n"));
}

}  // namespace
}  // namespace curtail::launch
