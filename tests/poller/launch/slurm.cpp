// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/core/files.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

JobSpec spec(std::filesystem::path const& folder)
{
    JobSpec one;
    one.run = {"demo"};
    one.site = {"SPP_TX"};
    one.folder_id = "1f2e3d4c";
    one.run_file = "/run.json";
    one.folder = folder / "100%_site";
    one.logs = folder / "100%_site/job-logs";
    one.build = "/opt/curtail/build/release";
    one.ranks = 2;
    one.launch.slurm_conf = "/dev/null";
    one.launch.partition = "train";
    one.launch.nodes = 2;
    one.launch.script = "/opt/curtail/slurm/site_train.sh";
    one.launch.command_deadline = Millis(5'000);
    one.launch.grace = Millis(14'500);
    return one;
}

std::string const comment = R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c",)"
                            R"("window":"2026-01-11T17:05:00Z","intent":"i7"})";

TEST(JobName, IsUniqueToRunSiteAndFolder)
{
    auto one = spec("/");
    one.run = {"demo"};
    one.site = {"eu-west"};
    auto other = spec("/");
    other.run = {"demo-eu"};
    other.site = {"west"};
    EXPECT_NE(job_name(one), job_name(other));
    other = one;
    other.folder_id = "00000000";
    EXPECT_NE(job_name(one), job_name(other));
    EXPECT_EQ(parse_comment(one, comment_text(one, {{"w"}, {"i"}})).owner,
              ParsedComment::Owner::ours);
    EXPECT_EQ(parse_comment(one, comment_text(other, {{"w"}, {"i"}})).owner,
              ParsedComment::Owner::other);
    EXPECT_EQ(parse_comment(one, "by hand").owner, ParsedComment::Owner::unknown);
}

TEST(JobName, FolderHashDoesNotDependOnSymbolicLinks)
{
    test::TemporaryFolder const folder;
    std::filesystem::create_directories(folder / "results/demo");
    std::filesystem::create_directory_symlink(folder / "results", folder / "link");
    auto const hash = hash_path(folder / "results/demo");
    EXPECT_EQ(hash.size(), 8U);
    EXPECT_EQ(hash, hash_path(folder / "link/demo/../demo"));
    EXPECT_NE(hash, hash_path(folder / "results/demo2"));
    EXPECT_EQ(hash_path("/no/such"), "901f4a1b")
        << "a missing folder; the value is that of sha256sum";
}

// Replaces Slurm's commands by scripts that record how they were called.
class FakeSlurm : public testing::Test {
  protected:
    void SetUp() override
    {
        path_ = std::getenv("PATH");
        setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
        setenv("CURTAIL_PLANTED_SECRET", "hunter2", 1);
        answer("scontrol", "");  // no federation
    }
    void TearDown() override
    {
        setenv("PATH", path_.c_str(), 1);
        unsetenv("CURTAIL_PLANTED_SECRET");
    }
    void answer(std::string const& program, std::string const& body)
    {
        auto const called = (folder_ / (program + ".called")).string();
        ASSERT_TRUE(write_file(
            folder_ / program,
            "#!/bin/bash\n{ printf '%s\\n' \"$@\"; env; } > " + called + "\n" + body + "\n", 0755));
    }
    std::string called(std::string const& program)
    {
        return read_file(folder_ / (program + ".called")).value_or("not called");
    }

    test::TemporaryFolder folder_;
    std::string path_;
};

TEST_F(FakeSlurm, SubmissionContainsWindowAndIntentAndNoSecret)
{
    answer("sbatch", "echo '42;cluster'");
    auto const job = SlurmLauncher(spec(folder_.path())).submit({"2026-01-11T17:05:00Z"}, {"i7"});
    ASSERT_TRUE(job) << job.error().message();
    EXPECT_EQ(job->value, "42");
    auto const seen = called("sbatch");
    for (auto const& word :
         {std::string("--job-name=curtail.demo.SPP_TX.1f2e3d4c\n"), "--comment=" + comment + "\n",
          std::string("--dependency=singleton\n"), std::string("100%%_site/job-logs/job-%j.log\n"),
          std::string("--ntasks=2\n"), std::string("--signal=B:USR1@15\n"),
          std::string("--partition=train\n"), std::string("--nodes=2\n"),
          std::string("/opt/curtail/slurm/site_train.sh\n/run.json\nSPP_TX\n"),
          std::string("SLURM_CONF=/dev/null\n"), std::string("--export=ALL\n"),
          std::string("--propagate=NONE\n"), std::string("CURTAIL_INTENT=i7\n"),
          std::string("CURTAIL_BUILD=/opt/curtail/build/release\n")})
        EXPECT_THAT(seen, HasSubstr(word));
    EXPECT_THAT(seen, Not(HasSubstr("hunter2")));
}

TEST_F(FakeSlurm, SubmissionContainsTheSitesOptionsAndPrologue)
{
    answer("sbatch", "echo 42");
    auto with = spec(folder_.path());
    with.launch.sbatch_options = {"--account=a b", "--exclusive"};
    with.launch.prologue = "/site/prologue.sh";
    ASSERT_TRUE(SlurmLauncher(with).submit({"w"}, {"i"}));
    EXPECT_THAT(called("sbatch"),
                HasSubstr("\n--account=a b\n--exclusive\n/opt/curtail/slurm/site_train.sh\n"));
    EXPECT_THAT(called("sbatch"), HasSubstr("\nCURTAIL_PROLOGUE=/site/prologue.sh\n"));
}

// The options of sbatch; scontrol does what `scontrol` says.
class FakeFederation : public FakeSlurm {
  protected:
    std::string sbatch_called_with(std::string const& scontrol)
    {
        answer("sbatch", "echo '42;spp_tx'");
        answer("scontrol", scontrol);
        auto with = spec(folder_.path());
        with.launch.command_deadline = Millis(1'000);
        auto const job = SlurmLauncher(with).submit({"w"}, {"i"});
        EXPECT_TRUE(job) << job.error().message();
        EXPECT_EQ(job.value_or(plan::JobId{}).value, "42");
        return called("sbatch");
    }
    static std::string print_fixture(std::string const& name)
    {
        return "cat " + test::source_path("tests/poller/launch/fixtures/slurm-22.05/" + name);
    }
};

TEST_F(FakeFederation, JobOfAMemberRunsOnlyOnTheSitesOwnCluster)
{
    EXPECT_THAT(sbatch_called_with(print_fixture("federation-member.txt")),
                HasSubstr("\n--clusters=spp_tx\n"));
    EXPECT_THAT(called("scontrol"), testing::StartsWith("show\nfederation\n"));
    EXPECT_THAT(called("scontrol"), HasSubstr("SLURM_CONF=/dev/null\n"));
}

TEST_F(FakeFederation, WithoutAFederationNoClusterIsNamed)
{
    for (auto const& scontrol : {print_fixture("federation.txt"), std::string("exit 0")})
        EXPECT_THAT(sbatch_called_with(scontrol), Not(HasSubstr("--clusters"))) << scontrol;
}

TEST_F(FakeFederation, WithoutAnAnswerOfScontrolThereIsNoSubmission)
{
    answer("sbatch", "echo 42");
    auto with = spec(folder_.path());
    with.launch.command_deadline = Millis(1'000);
    for (auto const& scontrol :
         {print_fixture("federation-member.txt") + "; exit 1", std::string("exit 1"),
          std::string("sleep 60"), std::string("kill -9 $$"),
          std::string("head -c 9000000 /dev/zero")}) {
        answer("scontrol", scontrol);
        auto const job = SlurmLauncher(with).submit({"w"}, {"i"});
        ASSERT_FALSE(job) << scontrol;
        EXPECT_EQ(job.error().code, ExitCode::temporary) << scontrol;
        EXPECT_THAT(job.error().message(), HasSubstr("cannot ask scontrol for a federation: "));
    }
    EXPECT_EQ(called("sbatch"), "not called");
}

// A job that squeue no longer lists.
class FakeSacct : public FakeSlurm {
  protected:
    Result<PastJob> past_job()
    {
        auto with = spec(folder_.path());
        with.launch.command_deadline = Millis(1'000);
        MissingJob missing{{{"7"}, {"i7"}, from_unix_ms(1'795'273'000'000)},
                           from_unix_ms(1'795'273'001'000),
                           {},
                           from_unix_ms(1'795'273'100'000)};
        return SlurmLauncher(with).past_job(missing);
    }
    // Begins a script that has the separator of the call, and prints a header.
    static std::string const header;
    static std::string const record;
};
std::string const FakeSacct::header =
    R"(for o in "$@"; do case $o in --delimiter=*) s=${o#*=}; esac; done
line() { local f; for f in "$@"; do printf '%s%s' "$f" "$s"; done; echo; }
line JobID State ExitCode Submit Start End JobName
)";
std::string const FakeSacct::record =
    "line 7 'CANCELLED by 0' 0:0 1795273000 1795273001 1795273050 curtail.demo.SPP_TX.1f2e3d4c\n";

TEST_F(FakeSacct, ItsRecordSaysHowTheJobEnded)
{
    answer("sacct", header + record);
    auto const past = past_job();
    ASSERT_TRUE(past) << past.error().message();
    ASSERT_TRUE(past->job);
    EXPECT_EQ(past->job->cancelled_by, "root");
}

TEST_F(FakeSacct, WithoutAccountingThereIsNoRecordAndNoError)
{
    for (auto const& sacct :
         {std::string("case $* in *--completion*) echo Slurm job completion is disabled >&2;; "
                      "*) echo Slurm accounting storage is disabled >&2;; esac; exit 1"),
          "case $* in *--completion*) ;; *) echo Slurm accounting storage is disabled >&2; "
          "exit 1;; esac\n" +
              header,
          header}) {
        answer("sacct", sacct);
        auto const past = past_job();
        ASSERT_TRUE(past) << past.error().message();
        EXPECT_FALSE(past->job);
    }
    std::filesystem::remove(folder_ / "sacct");
    setenv("PATH", folder_.path().c_str(), 1);
    auto const past = past_job();
    ASSERT_TRUE(past) << past.error().message();
    EXPECT_FALSE(past->job);
}

TEST_F(FakeSacct, AnAnswerThatDoesNotCountIsAnError)
{
    for (auto const& sacct :
         {header + record + "exit 1", header + record + "kill -9 $$", header + "sleep 60",
          std::string("sleep 60"), std::string("head -c 9000000 /dev/zero"),
          std::string("echo 'sacct: error: Problem talking to the database: Connection refused' "
                      ">&2; exit 1"),
          std::string("exit 1")}) {
        answer("sacct", sacct);
        auto const past = past_job();
        ASSERT_FALSE(past) << sacct;
        EXPECT_EQ(past.error().code, ExitCode::temporary) << sacct;
        EXPECT_THAT(past.error().message(), HasSubstr("cannot ask sacct how job 7 ended: "));
    }
}

TEST_F(FakeSacct, TheCompletionLogAnswersForABrokenDatabase)
{
    answer("sacct", "case $* in *--allocations*) echo Connection refused >&2; exit 1;; esac\n" +
                        header + record);
    auto const past = past_job();
    ASSERT_TRUE(past) << past.error().message();
    EXPECT_TRUE(past->job);
}

TEST_F(FakeSlurm, RefusalIsCertainAndAMissingAnswerIsNot)
{
    SlurmLauncher launcher(spec(folder_.path()));
    answer("sbatch",
           "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' "
           ">&2; exit 1");
    auto const refused = launcher.submit({"w"}, {"i"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("Invalid partition name specified"));
    auto const* const timed_out =
        "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv "
        "operation' >&2; exit 1";
    for (auto const* no_answer :
         {timed_out,
          "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
          "kill -9 $$", "exit 1", "echo hello", "printf 4", "printf '45;clu'"}) {
        answer("sbatch", no_answer);
        auto const unknown = launcher.submit({"w"}, {"i"});
        ASSERT_FALSE(unknown);
        EXPECT_EQ(unknown.error().code, ExitCode::temporary) << no_answer;
    }
}

TEST_F(FakeSlurm, MissingConfigurationIsAnError)
{
    auto other = spec(folder_.path());
    other.launch.slurm_conf = folder_ / "none/slurm.conf";
    answer("squeue", "");
    auto const jobs = SlurmLauncher(other).jobs();
    ASSERT_FALSE(jobs);
    EXPECT_THAT(jobs.error().message(),
                HasSubstr("none/slurm.conf does not exist; is the cluster up?"));
    EXPECT_EQ(called("squeue"), "not called");
}

TEST_F(FakeSlurm, EachCommandHasADeadline)
{
    auto slow = spec(folder_.path());
    slow.launch.command_deadline = Millis(300);
    SlurmLauncher launcher(slow);
    for (auto const* program : {"sbatch", "squeue", "scancel"}) answer(program, "sleep 60");
    EXPECT_EQ(launcher.submit({"w"}, {"i"}).error().code, ExitCode::temporary);
    EXPECT_EQ(launcher.jobs().error().code, ExitCode::temporary);
    EXPECT_EQ(launcher.drain({"1"}).error().code, ExitCode::temporary);
}

TEST_F(FakeSlurm, StopsPassTheRightOptions)
{
    SlurmLauncher launcher(spec(folder_.path()));
    answer("scancel", "");
    ASSERT_TRUE(launcher.drain({"5"}));
    EXPECT_THAT(called("scancel"), testing::StartsWith("--batch\n--signal=USR1\n5\n"));
    ASSERT_TRUE(launcher.cancel({"5"}, true));
    EXPECT_THAT(called("scancel"), testing::StartsWith("--state=PENDING\n5\n"));
    ASSERT_TRUE(launcher.cancel({"5"}, false));
    EXPECT_THAT(called("scancel"), testing::StartsWith("5\n"));
    answer(
        "scancel",
        "echo 'scancel: error: Kill job error on job id 5: Invalid job id specified' >&2; exit 1");
    EXPECT_TRUE(launcher.drain({"5"})) << "an ended job has stopped";
    answer("scancel",
           "echo 'scancel: error: Kill job error on job id 5: Access/permission denied' >&2; exit "
           "218");
    EXPECT_FALSE(launcher.drain({"5"}));
    auto shared = spec(folder_.path());
    shared.shared_group = getgid();
    SlurmLauncher member(std::move(shared));
    EXPECT_TRUE(member.drain({"5"})) << "another member's job stops without a permission";
}

TEST_F(FakeSlurm, ALostOrOversizedAnswerToAStopDoesNotSayThatItHadNoEffect)
{
    SlurmLauncher launcher(spec(folder_.path()));
    answer("scancel", "head -c 9000000 /dev/zero");
    EXPECT_EQ(launcher.drain({"5"}).error().code, ExitCode::temporary);
    EXPECT_EQ(launcher.cancel({"5"}, false).error().code, ExitCode::temporary);
    answer("scancel", "exit 0");
    signal(SIGCHLD, SIG_IGN);  // the kernel discards the exit code
    auto const lost = launcher.drain({"5"});
    signal(SIGCHLD, SIG_DFL);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ExitCode::temporary);
    EXPECT_THAT(lost.error().message(), HasSubstr("its exit code is lost"));
    std::filesystem::remove(folder_ / "scancel");
    setenv("PATH", "/nonexistent", 1);
    EXPECT_EQ(launcher.drain({"5"}).error().code, ExitCode::unavailable)
        << "a program that is missing has no effect";
}

TEST_F(FakeSlurm, ListsJobsOfThisRunSiteAndUser)
{
    // A line like that of Slurm, with the suffixes of the call.
    answer("squeue", R"(format=${*##*--Format=}; begin=${format#JobID:}; begin=${begin%%,*}
end=${format##*Comment:}
echo "JOBID${begin}JOBID|USER|STATE|EXIT_CODE|SUBMIT_TIME|START_TIME|END_TIME|REASON|COMMENT$end"
echo '12'"$begin"'12|anna|RUNNING|0|1795273000|1795273001|1826809001|None|)" +
                         comment + R"('"$end")");
    auto const jobs = SlurmLauncher(spec(folder_.path())).jobs();
    ASSERT_TRUE(jobs) << jobs.error().message();
    EXPECT_EQ(jobs->at(0).id.value, "12");
    EXPECT_THAT(called("squeue"),
                HasSubstr("--local\n--me\n--states=all\n--name=curtail.demo.SPP_TX.1f2e3d4c\n"));
}

}  // namespace
}  // namespace curtail::launch
