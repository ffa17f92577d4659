// SPDX-License-Identifier: Apache-2.0
// slurm/site_train.sh as Slurm runs it, with a stand-in for curtail-train that loads slowly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "run/permission/permission.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::string const script = test::source_path("slurm/site_train.sh");

// Prints `loading`, sleeps, and only then installs its handler, like a program with large
// libraries.
char const* const slow_trainer = R"(#!/usr/bin/env python3
import os, signal, sys, time
stops = [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM]
def stop(*_):
    for number in stops: signal.signal(number, signal.SIG_IGN)
    time.sleep(float(os.environ.get("DRAIN_S", "0")))
    os.write(1, b"drained\n")
    sys.exit(0)
os.write(1, ("loading %s\n" % " ".join(sys.argv[1:])).encode())
time.sleep(0.7)
for number in stops: signal.signal(number, stop)
signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)
while True: time.sleep(0.05)
)";

class SiteTrain : public testing::Test {
  protected:
    void SetUp() override
    {
        ASSERT_TRUE(make_folder(folder_ / "bin"));
        // A run of its own: a poller may have served the sites of the checkout's run.
        std::filesystem::copy(test::source_path("inputs"), folder_ / "inputs",
                              std::filesystem::copy_options::recursive);
        for (std::string const name :
             {"curtail-poll", "curtail-block-signals", "curtail-forward-stop"})
            std::filesystem::create_symlink(test::program_path(name), folder_ / "bin" / name);
        ASSERT_TRUE(write_file(folder_ / "bin/curtail-train", slow_trainer, 0755));
        setenv("CURTAIL_BUILD", folder_.path().c_str(), 1);
        for (auto const* name :
             {"SLURM_NTASKS", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_SUBMIT_DIR",
              "SLURM_CPUS_ON_NODE", "SLURM_JOB_NUM_NODES", "SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS",
              "CURTAIL_PROLOGUE", "CURTAIL_INTENT", "CURTAIL_CORE_LIMIT", "CURTAIL_MPI_MESSAGES"})
            unsetenv(name);
    }
    [[nodiscard]] std::string log() const { return read_file(folder_ / "log").value_or(""); }
    [[nodiscard]] long count(std::string_view word) const
    {
        auto const text = log();
        auto const lines = split(text, '\n');
        return std::count_if(lines.begin(), lines.end(),
                             [&](auto line) { return line.substr(0, word.size()) == word; });
    }
    int run(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), script);
        test::ChildProcess child(std::move(arguments), folder_ / "log");
        return child.wait(seconds(20)).value_or(-1);
    }
    [[nodiscard]] std::filesystem::path site_folder() const
    {
        return folder_ / "results/demo/sites/SPP_TX";
    }
    // Writes the permission of site SPP_TX.
    void permit(Millis lifetime) const
    {
        auto const now = SystemClock{}.now();
        ASSERT_TRUE(permission::write_permission(site_folder(), {{"demo"},
                                                                 {"SPP_TX"},
                                                                 to_unix_ms(now),
                                                                 now,
                                                                 lifetime,
                                                                 now + lifetime,
                                                                 "the window is closed"}));
    }
    // Replaces curtail-train.
    void replace_trainer(std::string const& text) const
    {
        ASSERT_TRUE(write_file(folder_ / "bin/curtail-train", text, 0755));
    }
    // Replaces mpirun by a program that prints its arguments.
    void replace_mpirun() const
    {
        ASSERT_TRUE(make_folder(folder_ / "module"));
        ASSERT_TRUE(write_file(folder_ / "module/mpirun",
                               "#!/bin/bash\necho \"mpirun $*; TMPDIR ${TMPDIR-not set}\"\n"
                               "echo \"agent $(type -P curtail-block-signals)\"\n"
                               "echo \"core $(ulimit -c)\"\n",
                               0755));
        ASSERT_TRUE(write_file(folder_ / "module.sh",
                               "PATH=" + (folder_ / "module").string() + ":$PATH\n"));
        setenv("CURTAIL_PROLOGUE", (folder_ / "module.sh").c_str(), 1);
    }
    test::TemporaryFolder folder_;
    std::string const demo = folder_ / "inputs/runs/demo.json";
};

TEST_F(SiteTrain, ADrainWhileRanksLoadReachesEachRankOnce)
{
    setenv("SLURM_CLUSTER_NAME", "nem_sa", 1);  // as Slurm writes it
    setenv("SLURM_JOB_ID", "77", 1);
    test::ChildProcess job({script, demo}, folder_ / "log");
    ASSERT_TRUE(test::eventually([&] { return count("loading") == 2; }, seconds(20))) << log();
    EXPECT_THAT(log(), HasSubstr("loading " + demo +
                                 " --site NEM_SA --job 77 --permission if-served --threads 1\n"));
    job.kill(SIGUSR1);
    EXPECT_EQ(job.wait(seconds(20)), 0) << log();
    EXPECT_EQ(count("drained"), 2) << log();
    unsetenv("SLURM_CLUSTER_NAME");
    unsetenv("SLURM_JOB_ID");
}

TEST_F(SiteTrain, PassesTheKillWaitThatSlurmReports)
{
    replace_mpirun();
    auto const config = test::source_path("tests/poller/launch/fixtures/slurm-22.05/config.txt");
    setenv("SLURM_JOB_ID", "77", 1);
    for (auto const& [body, passed] :
         {std::pair("cat " + config, true), std::pair(std::string("exit 1"), false)}) {
        ASSERT_TRUE(write_file(folder_ / "module/scontrol", "#!/bin/bash\n" + body + "\n", 0755));
        std::filesystem::remove(folder_ / "log");
        EXPECT_EQ(run({demo, "SPP_TX"}), 0) << log();
        EXPECT_EQ(log().find("--kill-wait 4 ") != std::string::npos, passed) << log();
        EXPECT_EQ(log().find("--kill-wait") != std::string::npos, passed) << log();
    }
    unsetenv("SLURM_JOB_ID");
    unsetenv("CURTAIL_PROLOGUE");
}

// As proctrack/cgroup delivers the TERM of a cancelled job: only to the script's process.
TEST_F(SiteTrain, TermDrainsRanksThatTakeLongerThanMpirunsPatience)
{
    setenv("DRAIN_S", "3", 1);
    test::ChildProcess job({script, demo, "SPP_TX"}, folder_ / "log");
    ASSERT_TRUE(test::eventually([&] { return count("loading") == 2; }, seconds(20))) << log();
    job.kill(SIGTERM);
    EXPECT_EQ(job.wait(seconds(20)), 0) << log();
    EXPECT_EQ(count("drained"), 2) << log();
    unsetenv("DRAIN_S");
}

TEST_F(SiteTrain, AnEarlierStopEndsTheJobToo)
{
    for (int const signal : {SIGUSR1, SIGTERM}) {
        for (int wait = 15; wait <= 135; wait += 30) {
            test::ChildProcess job({script, demo, "SPP_TX"}, folder_ / "log");
            (void)job.wait(milliseconds(wait));
            job.kill(signal);
            // bash may lose a signal while it becomes another program.
            bool const ended = test::eventually(
                [&] {
                    if (job.wait(milliseconds(1500))) return true;
                    job.kill(signal);
                    return false;
                },
                seconds(15));
            EXPECT_TRUE(ended) << signal << " after " << wait << " ms\n" << log();
        }
    }
}

TEST_F(SiteTrain, TermBeforeMpirunEndsTheScriptWithZero)
{
    auto const prologue = folder_ / "prologue.sh";
    ASSERT_TRUE(write_file(prologue, "echo prologue\nkill -TERM $$\n"));
    setenv("CURTAIL_PROLOGUE", prologue.c_str(), 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("stopped before training started"));
    EXPECT_EQ(count("loading"), 0) << log();
    unsetenv("CURTAIL_PROLOGUE");
}

TEST_F(SiteTrain, TheErrorOfARankEndsTheLog)
{
    replace_trainer(
        "#!/bin/bash\n[ $OMPI_COMM_WORLD_RANK = 0 ] || exec sleep 5\n"
        "echo 'curtail-train: the store is full' >&2; exit 74\n");
    EXPECT_EQ(run({demo, "SPP_TX"}), 74);
    EXPECT_THAT(log(), testing::EndsWith("curtail-train: the store is full\n"));
    setenv("CURTAIL_MPI_MESSAGES", "1", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 74);
    EXPECT_THAT(log(), HasSubstr("a non-zero exit code"));
    unsetenv("CURTAIL_MPI_MESSAGES");
}

TEST_F(SiteTrain, NamesTheSignalThatKilledARank)
{
    replace_trainer("#!/bin/bash\n[ $OMPI_COMM_WORLD_RANK = 0 ] || exec sleep 5\nkill -KILL $$\n");
    EXPECT_EQ(run({demo, "SPP_TX"}), 69);
    EXPECT_THAT(log(),
                testing::EndsWith("mpirun: exit code 137: signal 9 (Killed) ended one of its "
                                  "processes\n"));
}

TEST_F(SiteTrain, RanksDumpNoCoreUnlessAskedTo)
{
    replace_mpirun();
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_EQ(count("core 0"), 1) << log();
    setenv("CURTAIL_CORE_LIMIT", "4096", 1);
    auto const run_with_hard_limit = [&](std::string const& limit) {
        test::ChildProcess child(
            {"bash", "-c", "ulimit -c " + limit + "; exec \"$@\"", "x", script, demo, "SPP_TX"},
            folder_ / "log");
        return child.wait(seconds(20)).value_or(-1);
    };
    EXPECT_EQ(run_with_hard_limit("8192"), 0);
    EXPECT_EQ(count("core 4096"), 1) << log();
    setenv("CURTAIL_CORE_LIMIT", "many", 1);
    EXPECT_EQ(run_with_hard_limit("16"), 0);
    EXPECT_THAT(log(), HasSubstr("cannot set the limit of core dumps to many; it stays at 16\n"));
    unsetenv("CURTAIL_CORE_LIMIT");
}

TEST_F(SiteTrain, TheJobDeterminesTheNumberOfRanks)
{
    setenv("SLURM_NTASKS", "1", 1);
    test::ChildProcess job({script, demo, "SPP_TX"}, folder_ / "log");
    ASSERT_TRUE(test::eventually([&] { return count("loading") == 1; }, seconds(20))) << log();
    job.kill(SIGUSR1);
    EXPECT_EQ(job.wait(seconds(20)), 0) << log();
    EXPECT_EQ(count("loading"), 1) << log();
    unsetenv("SLURM_NTASKS");
}

TEST_F(SiteTrain, WarnsIfRanksShareACpu)
{
    replace_mpirun();
    setenv("SLURM_CPUS_ON_NODE", "2", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), testing::Not(HasSubstr("share the")));
    setenv("SLURM_CPUS_ON_NODE", "1", 1);
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    // Everywhere on the PATH, the daemons of other nodes start with the programs of the build.
    ASSERT_TRUE(write_file(folder_ / "module/curtail-block-signals", "#!/bin/bash\n", 0755));
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), testing::Not(HasSubstr("share the")));
    EXPECT_THAT(log(), HasSubstr("/bin/curtail-block-signals\n"));
    EXPECT_THAT(log(), testing::Not(HasSubstr("module/curtail-block-signals")));
    unsetenv("SLURM_JOB_NUM_NODES");
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("2 ranks share the 1 CPU(s) of this job and wait for each other; "
                                 "request more with sbatch -n 2\n"));
    EXPECT_EQ(count("mpirun -n 2 "), 3) << log();
    unsetenv("SLURM_CPUS_ON_NODE");
}

TEST_F(SiteTrain, ThreadsDefaultToTheCpusOfATask)
{
    replace_mpirun();
    setenv("SLURM_CPUS_PER_TASK", "8", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("--threads 8;"));
    setenv("OMP_NUM_THREADS", "3,1", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("--threads 3;"));
    for (auto const* name : {"SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"}) unsetenv(name);
}

TEST_F(SiteTrain, IgnoresTheTmpdirOfAnotherMachine)
{
    replace_mpirun();
    auto const run_with = [&](std::filesystem::path const& temporary) {
        test::ChildProcess child({"env", "TMPDIR=" + temporary.string(), script, demo, "SPP_TX"},
                                 folder_ / "log");
        return child.wait(seconds(20)).value_or(-1);
    };
    EXPECT_EQ(run_with(folder_.path()), 0);
    EXPECT_THAT(log(), HasSubstr("; TMPDIR " + folder_.path().string() + "\n"));
    EXPECT_EQ(run_with(folder_ / "missing"), 0);
    EXPECT_THAT(log(), HasSubstr("missing is not a writable folder on"));
    EXPECT_THAT(log(), HasSubstr("; TMPDIR not set\n"));
}

TEST_F(SiteTrain, LeavesATmpdirWithoutSpaceForMpirun)
{
    replace_mpirun();
    auto const fill = [&](std::string const& where) {
        EXPECT_TRUE(write_file(folder_ / "module/df",
                               "#!/bin/bash\nfree=1000000\n[[ $3 == " + where +
                                   " ]] && free=12288\n"
                                   "printf 'Filesystem\nnone 0 0 %s 9%% x\\n' $free\n",
                               0755));
    };
    setenv("TMPDIR", folder_.path().c_str(), 1);
    fill(folder_.path());
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("has 12 MB free, and mpirun needs 16 MB, on"));
    EXPECT_THAT(log(), HasSubstr("; TMPDIR not set\n"));
    fill("*");
    EXPECT_EQ(run({demo, "SPP_TX"}), 69);
    EXPECT_THAT(log(), HasSubstr("/tmp has 12 MB free on"));
    fill("/tmp");
    EXPECT_EQ(run({demo, "SPP_TX"}), 0) << "mpirun does not use it";
    unsetenv("TMPDIR");
    EXPECT_EQ(run({demo, "SPP_TX"}), 69);
}

TEST_F(SiteTrain, PrologueMakesMpirunAvailable)
{
    // Like an environment module: code that is not written for `set -eu`.
    auto const prologue = folder_ / "prologue.sh";
    ASSERT_TRUE(write_file(prologue, "false\n: $NOT_SET\nPATH=" + (folder_ / "module").string() +
                                         ":$PATH\nexport MODULE_SAYS=hello\n"));
    ASSERT_TRUE(make_folder(folder_ / "module"));
    ASSERT_TRUE(write_file(folder_ / "module/mpirun",
                           "#!/bin/bash\necho \"the module's mpirun says $MODULE_SAYS: $*\"\n",
                           0755));
    setenv("CURTAIL_PROLOGUE", prologue.c_str(), 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 0) << log();
    EXPECT_THAT(log(), HasSubstr("the module's mpirun says hello: -n 2"));
    ASSERT_TRUE(write_file(prologue, "echo no such module >&2; return 3\n"));
    EXPECT_EQ(run({demo, "SPP_TX"}), 3);
    EXPECT_THAT(log(), HasSubstr("prologue.sh failed (exit code 3)"));
    setenv("CURTAIL_PROLOGUE", "/no/prologue.sh", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 66);
    unsetenv("CURTAIL_PROLOGUE");
}

TEST_F(SiteTrain, AJobOfThePollerNeedsAPermission)
{
    setenv("CURTAIL_INTENT", "i1", 1);
    EXPECT_EQ(run({demo, "SPP_TX"}), 75);
    EXPECT_THAT(log(), HasSubstr("this job may not train: no poller has permitted it"));
    unsetenv("CURTAIL_INTENT");
}

TEST_F(SiteTrain, AJobByHandNeedsAPermissionWhereAPollerServesTheSite)
{
    permit(Millis{0});
    replace_trainer("#!/bin/bash\necho \"trained $*\"\n");
    EXPECT_EQ(run({demo, "SPP_TX"}), 75);
    EXPECT_THAT(log(), HasSubstr("the poller ended the permission: 'the window is closed'"));
    EXPECT_EQ(run({"--without-poller", demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("--permission never"));
    permit(Seconds{60});
    EXPECT_EQ(run({demo, "SPP_TX"}), 0);
    EXPECT_THAT(log(), HasSubstr("--permission if-served"));
}

TEST_F(SiteTrain, ADamagedPermissionIsNoPermission)
{
    permit(Seconds{60});
    ASSERT_TRUE(write_file(permission::permission_file(site_folder()), "{\"format\":1,"));
    EXPECT_EQ(run({demo, "SPP_TX"}), 75);
    EXPECT_THAT(log(), HasSubstr("the site's poller replaces the file at its next poll"));
}

TEST_F(SiteTrain, UsageErrorsAreClear)
{
    EXPECT_EQ(run({}), 64);
    EXPECT_EQ(run({"--help"}), 0);
    EXPECT_THAT(log(), HasSubstr("Trains a run at one site"));
    EXPECT_EQ(run({"--site", "SPP_TX"}), 64);
    EXPECT_THAT(log(), HasSubstr("unknown option --site"));
    EXPECT_EQ(run({"none.json"}), 66);
    EXPECT_THAT(log(), HasSubstr("cannot read run none.json"));
    EXPECT_EQ(run({demo}), 64);
    EXPECT_THAT(log(), HasSubstr("which site?"));
    EXPECT_EQ(run({demo, "SPP_TEXAS"}), 64);
    EXPECT_THAT(log(), HasSubstr("run demo has no site \"SPP_TEXAS\""));
    // Slurm runs a copy of the script, which cannot find the build.
    std::filesystem::remove(folder_ / "bin/curtail-train");
    std::filesystem::copy_file(script, folder_ / "slurm_script");
    setenv("SLURM_SUBMIT_DIR", "/", 1);
    test::ChildProcess copy({(folder_ / "slurm_script").string(), demo, "SPP_TX"}, folder_ / "log");
    EXPECT_EQ(copy.wait(seconds(20)), 69);
    EXPECT_THAT(log(), HasSubstr("CURTAIL_BUILD=" + folder_.path().string() + " does not lead"));
    unsetenv("SLURM_SUBMIT_DIR");
}

}  // namespace
}  // namespace curtail
