// SPDX-License-Identifier: Apache-2.0
// curtail-poll with a fake WattTime server and jobs as local processes: what cron runs on a machine
// without Slurm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/process/command.hpp"
#include "run/runlog/configuration.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/watttime_server.hpp"

namespace curtail {
namespace {

using testing::HasSubstr;
using testing::Not;

char const* const obedient = R"sh(#!/bin/bash
trap 'echo stopped; exit 0' USR1
env
while :; do sleep 0.05; done
)sh";

class LivePoller : public testing::Test {
  protected:
    void SetUp() override
    {
        server_.control("lbs=100");
        ASSERT_TRUE(write_file(folder_ / "job.sh", obedient, 0755));
        ASSERT_TRUE(write_file(folder_ / "site.json",
                               R"({"site": "CAISO_NORTH", "power": "unknown",
                "launcher": {"kind": "local", "script": "job.sh"}})"));
        ASSERT_TRUE(
            write_file(folder_ / "run.json",
                       fmt::format(R"({{"run": "live", "folder": "out", "store": "file:out/store",
            "model": "{}/inputs/models/demo.json", "data": {{"folder": "d"}},
            "training": {{"batch_tokens": 65536}}, "sites": ["site.json"]}})",
                                   test::source_folder().string())));
        ASSERT_TRUE(write_file(folder_ / "account.json",
                               fmt::format(R"({{"username": "alice", "password": "{}"}})",
                                           test::WattTimeServer::password),
                               0600));
    }
    // Ends what the test started.
    void TearDown() override
    {
        ASSERT_TRUE(make_folder(folder_ / "out"));
        ASSERT_TRUE(write_file(folder_ / "out/complete.json", "{}"));
        EXPECT_TRUE(test::eventually(
            [&] { return poll({"--json"}).output.find("\"jobs\": []") != std::string::npos; }));
    }
    process::CommandResult poll(std::vector<std::string> more)
    {
        more.insert(more.end(), {"--watttime", "--credentials", (folder_ / "account.json").string(),
                                 "--watttime-url", server_.url()});
        return run(std::move(more));
    }
    /// Waits until a job has printed its environment. From then on, the job handles USR1.
    [[nodiscard]] bool job_runs() const
    {
        return test::eventually([&] {
            for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "out"))
                if (entry.path().filename().string().starts_with("job-") &&
                    read_file(entry.path()).value_or("").find("PATH=") != std::string::npos)
                    return true;
            return false;
        });
    }
    process::CommandResult run(std::vector<std::string> more, std::string allow_root = "1")
    {
        std::vector<std::string> arguments{test::program_path("curtail-poll"),
                                           (folder_ / "run.json").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto environment = process::plain_environment();
        environment.emplace_back("CURTAIL_ALLOW_ROOT", std::move(allow_root));
        auto const done =
            process::run_command({std::move(arguments), std::move(environment), Millis(20'000)});
        EXPECT_TRUE(done) << (done ? "" : done.error().message());
        return done.value_or(process::CommandResult{-1, "", ""});
    }

    test::TemporaryFolder folder_;
    test::WattTimeServer server_;
};

TEST_F(LivePoller, CleanSignalStartsAJobWithoutSecretsAndRequestsAreRare)
{
    auto const first = poll({"--explain"});
    EXPECT_EQ(first.exit_code, 0) << first.errors;
    EXPECT_THAT(first.output, HasSubstr("45.4 gCO2/kWh"));
    EXPECT_THAT(first.output, HasSubstr("action  submit: the window has been open since"));
    EXPECT_EQ(poll({}).exit_code, 0);
    EXPECT_THAT(poll({"--explain", "--dry-run"}).output,
                HasSubstr("RUNNING\n  would   wait: job i"));
    EXPECT_LE(server_.requests("/v3/forecast").size(), 2U)
        << "one request in five minutes, which may just have passed";
    EXPECT_EQ(server_.requests("/login").size(), 1U);
    ASSERT_TRUE(job_runs());
    // No other file, log or environment contains the account.
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "out")) {
        if (!entry.is_regular_file()) continue;
        EXPECT_THAT(read_file(entry.path()).value(), Not(HasSubstr(test::WattTimeServer::password)))
            << entry.path();
    }
}

TEST_F(LivePoller, DryRunWritesNothingAndPrintsTheNextAction)
{
    auto const dry = poll({"--dry-run"});
    EXPECT_EQ(dry.exit_code, 0) << dry.errors;
    EXPECT_THAT(dry.output, HasSubstr("45.4 gCO2/kWh"));
    EXPECT_THAT(dry.output, HasSubstr("would   submit"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(LivePoller, RunFollowsOneClock)
{
    ASSERT_TRUE(
        write_file(folder_ / "trace.csv",
                   "point_time,CAISO_NORTH\n2026-01-11T17:00Z,500\n2026-01-11T23:00Z,500\n"));
    std::vector<std::string> const replay{"--trace", (folder_ / "trace.csv").string()};
    EXPECT_EQ(poll({}).exit_code, 0);
    auto const late_replay = run(replay);
    EXPECT_EQ(late_replay.exit_code, 78);
    EXPECT_THAT(late_replay.errors, HasSubstr("it was started with a live signal"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out/clock.json"));
    std::filesystem::rename(folder_ / "out/poller", folder_ / "live");
    EXPECT_EQ(run(replay).exit_code, 0);
    auto const late_live = poll({});
    EXPECT_EQ(late_live.exit_code, 78);
    EXPECT_THAT(late_live.errors, HasSubstr("it was started as a replay"));
    std::filesystem::remove_all(folder_ / "out/poller");
    std::filesystem::remove(folder_ / "out/clock.json");
    std::filesystem::rename(folder_ / "live", folder_ / "out/poller");
}

TEST_F(LivePoller, ErrorsGiveCronAnExitCode)
{
    server_.control("fault=status503&times=99&endpoint=forecast");
    auto const unreachable = poll({});
    EXPECT_EQ(unreachable.exit_code, 75);
    EXPECT_THAT(unreachable.errors, HasSubstr("errors at CAISO_NORTH: "));
    std::filesystem::remove_all(folder_ / "out/poller");
    server_.control("no_faults");
    ASSERT_TRUE(write_file(folder_ / "account.json",
                           R"({"username": "alice", "password": "wrong"})", 0600));
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(poll({}).exit_code, 77) << "also while the poller waits before the next request";
    ASSERT_TRUE(write_file(
        folder_ / "account.json",
        fmt::format(R"({{"username": "alice", "password": "{}"}})", test::WattTimeServer::password),
        0600));
    EXPECT_EQ(poll({}).exit_code, 0) << "a corrected password takes effect at once";
}

TEST_F(LivePoller, SiteNamedTwiceIsPolledOnce)
{
    auto const done = poll({"--explain", "--site", "CAISO_NORTH", "--site", "CAISO_NORTH"});
    EXPECT_EQ(done.exit_code, 0) << done.errors;
    EXPECT_THAT(done.output, testing::StartsWith("CAISO_NORTH ("));
    EXPECT_EQ(done.output.find("CAISO_NORTH (", 1), std::string::npos) << done.output;
}

TEST_F(LivePoller, CopyOfARunsFolderIsRefused)
{
    EXPECT_EQ(poll({}).exit_code, 0);
    std::filesystem::copy(folder_ / "out", folder_ / "copy",
                          std::filesystem::copy_options::recursive);
    auto const text = read_file(folder_ / "run.json").value();
    auto const at = text.find("\"out\"");
    ASSERT_TRUE(
        write_file(folder_ / "run.json", text.substr(0, at) + "\"copy\"" + text.substr(at + 5)));
    auto const copied = poll({});
    EXPECT_EQ(copied.exit_code, 78);
    EXPECT_THAT(copied.errors, HasSubstr("/copy is a copy of a run's folder"));
    ASSERT_TRUE(write_file(folder_ / "run.json", text));
    EXPECT_EQ(poll({}).exit_code, 0);
}

TEST_F(LivePoller, JobLineIgnoresCaseButPrefersTheExactName)
{
    EXPECT_EQ(run({"--job-line", "caiso_north"}).output, "CAISO_NORTH 1 if-served\n");
    ASSERT_TRUE(write_file(folder_ / "other.json",
                           R"({"site": "Caiso_North", "ranks": 3,
            "power": "unknown", "launcher": {"kind": "local", "script": "job.sh"}})"));
    auto const text = read_file(folder_ / "run.json").value();
    auto const end = text.find("\"site.json\"");
    ASSERT_TRUE(write_file(folder_ / "run.json",
                           text.substr(0, end) + "\"other.json\", " + text.substr(end)));
    EXPECT_EQ(run({"--job-line", "CAISO_NORTH"}).output, "CAISO_NORTH 1 if-served\n");
    EXPECT_EQ(run({"--job-line", "Caiso_North"}).output, "Caiso_North 3 if-served\n");
    ASSERT_TRUE(write_file(folder_ / "run.json", text));
}

TEST_F(LivePoller, ShowsTheLastEvaluationWithoutASignal)
{
    EXPECT_THAT(run({"--dry-run"}).output,
                HasSubstr("window  closed: never evaluated\n  job     none"));
    EXPECT_EQ(poll({}).exit_code, 0);
    auto const left = run({"--explain"});
    EXPECT_EQ(left.exit_code, 0) << left.errors;
    EXPECT_THAT(left.output, HasSubstr("signal  not requested\n  window  open since"));
    EXPECT_THAT(left.output, HasSubstr("RUNNING\n  would   wait: job i"));
    EXPECT_EQ(run({}).exit_code, 64);
    EXPECT_EQ(poll({"--speed", "2"}).exit_code, 64);
    EXPECT_EQ(poll({"--drain-on-exit"}).exit_code, 64);
}

TEST_F(LivePoller, MeaninglessOptionsAreUsageErrors)
{
    struct Case {
        std::vector<std::string> options;
        char const* error;
    };
    for (auto const& [options, error] : std::vector<Case>{
             {{}, "cannot poll: no signal source is given"},
             {{"--once", "--watch", "--watttime"}, "--once and --watch: exclude each other"},
             {{"--look-every", "5", "--watttime"}, "--look-every: works only with --watch"},
             {{"--look-every", "0.05", "--watch", "--watttime"},
              "--look-every: must be a number from 0.1 to 3600"},
             {{"--watch", "--dry-run"}, "--watch and --dry-run: exclude each other"},
             {{"--watttime", "--trace", "trace.csv"}, "--watttime and --trace: exclude each other"},
             {{"--speed", "2", "--watttime"}, "--speed: works only with --trace"},
             {{"--speed", "0", "--trace", "trace.csv"},
              "--speed: must be a number above 0 and at most 1000000"},
             {{"--speed", "2e6", "--trace", "trace.csv"}, "above 0 and at most 1000000"},
             {{"--drain-on-exit", "--watttime"}, "--drain-on-exit: works only with --watch"},
             {{"--watttime"}, "--watttime: needs an account"},
             {{"--explain", "--watch"}, "cannot poll: no signal source is given"}}) {
        auto const done = run(options);
        EXPECT_EQ(done.exit_code, 64) << error;
        EXPECT_THAT(done.errors, HasSubstr(error));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(LivePoller, HangupStopsAWatchUnlessIgnored)
{
    auto const command = test::program_path("curtail-poll") + " " +
                         (folder_ / "run.json").string() + " --watch --watttime --credentials " +
                         (folder_ / "account.json").string() + " --watttime-url " + server_.url();
    auto const is_watching = [&] {
        return read_file(folder_ / "log").value_or("").find("submit job") != std::string::npos;
    };
    {
        test::ChildProcess poller({"/bin/bash", "-c", "exec " + command}, folder_ / "log");
        ASSERT_TRUE(test::eventually(is_watching)) << read_file(folder_ / "log").value_or("");
        auto const limits =
            read_file("/proc/" + std::to_string(poller.pid()) + "/limits").value_or("");
        EXPECT_THAT(limits, testing::ContainsRegex("Max core file size +0 +0"));
        poller.kill(SIGHUP);
        EXPECT_EQ(poller.wait(std::chrono::seconds(10)), 0);
    }
    {
        test::ChildProcess poller({"/bin/bash", "-c", "exec " + command}, folder_ / "third");
        auto const holder = std::to_string(poller.pid()) + " on ";
        ASSERT_TRUE(test::eventually([&] {
            return read_file(folder_ / "out/poller/lock").value_or("").starts_with(holder);
        }));
        // As if a call did not return.
        for (int const number : {SIGSTOP, SIGHUP, SIGINT, SIGTERM, SIGCONT}) poller.kill(number);
        EXPECT_EQ(poller.wait(std::chrono::seconds(10)), 128 + SIGTERM);
    }
    test::ChildProcess poller({"/bin/bash", "-c", "trap '' HUP; exec " + command},
                              folder_ / "second");
    auto const holder = std::to_string(poller.pid()) + " on ";
    ASSERT_TRUE(test::eventually(
        [&] { return read_file(folder_ / "out/poller/lock").value_or("").starts_with(holder); }));
    poller.kill(SIGHUP);
    EXPECT_FALSE(poller.wait(std::chrono::milliseconds(500)));
    poller.kill(SIGTERM);
    EXPECT_EQ(poller.wait(std::chrono::seconds(10)), 0);
}

TEST_F(LivePoller, CredentialsReadableByOthersAreRefused)
{
    std::filesystem::permissions(folder_ / "account.json", std::filesystem::perms(0644));
    auto const done = poll({});
    EXPECT_EQ(done.exit_code, 77);
    EXPECT_THAT(done.errors, HasSubstr("chmod 600"));
    std::filesystem::permissions(folder_ / "account.json", std::filesystem::perms(0600));
}

// Replaces `"script": "job.sh"` in the site file.
void set_launcher(std::filesystem::path const& site, std::string const& keys)
{
    ASSERT_TRUE(write_file(
        site, R"({"site": "CAISO_NORTH", "power": "unknown", "launcher": {"kind": "local", )" +
                  keys + "}}"));
}

TEST_F(LivePoller, ARunBeginsOnlyIfTheFilesOfItsJobsCanBeUsed)
{
    ASSERT_TRUE(make_folder(folder_ / "folder"));
    ASSERT_TRUE(write_file(folder_ / "plain.sh", obedient, 0644));
    std::vector<std::pair<std::string, std::string>> const bad{
        {R"("script": "folder")", "launcher.script " + (folder_ / "folder").string() +
                                      ": it is a folder, not a regular file"},
        {R"("script": "none.sh")", "none.sh: No such file or directory"},
        {R"("script": "plain.sh")", "plain.sh: it is not executable"},
        {R"("script": "job.sh", "prologue": "none.sh")", "launcher.prologue "},
        {R"("script": "job.sh", "slurm_conf": "folder")", "launcher.slurm_conf "}};
    for (auto const& [keys, message] : bad) {
        set_launcher(folder_ / "site.json", keys);
        auto const refused = poll({});
        EXPECT_EQ(refused.exit_code, 78) << keys;
        EXPECT_THAT(refused.errors, HasSubstr("cannot start jobs at CAISO_NORTH: "));
        EXPECT_THAT(refused.errors, HasSubstr(message));
        EXPECT_FALSE(std::filesystem::exists(folder_ / "out")) << keys;
        EXPECT_EQ(poll({"--dry-run"}).exit_code, 78) << keys;
        EXPECT_EQ(run({"--job-line", "CAISO_NORTH"}).exit_code, 0) << keys;
    }
    set_launcher(folder_ / "site.json", R"("script": "job.sh", "slurm_conf": "none.conf")");
    EXPECT_EQ(poll({}).exit_code, 0) << "the cluster of a missing slurm.conf may be down";
}

TEST_F(LivePoller, AMissingScriptDoesNotKeepJobsOfAnOpenRunFromBeingDrained)
{
    EXPECT_EQ(poll({}).exit_code, 0);
    ASSERT_TRUE(job_runs());
    std::filesystem::remove(folder_ / "job.sh");
    ASSERT_TRUE(write_file(folder_ / "out/complete.json", "{}"));
    auto const late = poll({});
    EXPECT_EQ(late.exit_code, 78);
    EXPECT_THAT(late.errors, HasSubstr("job.sh: No such file or directory"));
    EXPECT_THAT(read_file(folder_ / "out/poller/sites/CAISO_NORTH/events.jsonl").value(),
                HasSubstr("\"type\":\"job-drained\""));
}

TEST_F(LivePoller, RefusesWhatOtherUsersCanChangeAndNamesTheCommandThatMendsIt)
{
    for (std::string const folder : {"out", "out/sites", "out/sites/CAISO_NORTH", "out/store"})
        ASSERT_TRUE(make_folder(folder_ / folder));
    for (auto const& [path, mode, safe] : {std::tuple("out", 0777U, 0755U),
                                           {"out", 01777, 0755},
                                           {"out/sites", 0777, 0755},
                                           {"out/sites/CAISO_NORTH", 0777, 0755},
                                           {"out/store", 0777, 0755},
                                           {"run.json", 0666, 0644},
                                           {"site.json", 0646, 0644},
                                           {"job.sh", 0757, 0755},
                                           {"account.json", 0602, 0600}}) {
        auto const file = (folder_ / path).string();
        chmod(file.c_str(), mode);
        auto const done = poll({});
        EXPECT_EQ(done.exit_code, 77) << path << done.errors;
        EXPECT_THAT(done.errors, HasSubstr("chmod ")) << path;
        EXPECT_THAT(done.errors, HasSubstr(file));
        chmod(file.c_str(), safe);
        ASSERT_FALSE(std::filesystem::exists(folder_ / "out/poller/state.json"));
    }
    chmod(folder_.path().c_str(), 0777);
    EXPECT_THAT(poll({}).errors, HasSubstr("chmod o-w " + folder_.path().string()));
    chmod(folder_.path().c_str(), 0700);
    EXPECT_EQ(poll({}).exit_code, 0);
}

TEST_F(LivePoller, LogsItsSettingsAtTheFirstPollAndAtEachChange)
{
    auto const logged = [&] {
        std::vector<runlog::Configuration> all;
        auto const file =
            runlog::read_events(folder_ / "out/poller/sites/CAISO_NORTH/events.jsonl").value();
        for (auto const& event : file.events)
            if (auto found = runlog::configuration_in(event)) all.push_back(std::move(*found));
        return all;
    };
    EXPECT_EQ(poll({}).exit_code, 0);
    EXPECT_EQ(poll({}).exit_code, 0);
    ASSERT_EQ(logged().size(), 1U) << "nothing has changed";
    EXPECT_EQ(logged()[0].files.at(2).text, read_file(folder_ / "site.json").value());
    auto text = read_file(folder_ / "site.json").value();
    text.replace(text.find("\"unknown\""), 9, R"({"idle_kw": 0.2, "training_kw": 1, "pue": 1})");
    ASSERT_TRUE(write_file(folder_ / "site.json", text));
    EXPECT_EQ(poll({}).exit_code, 0);
    ASSERT_EQ(logged().size(), 2U);
    EXPECT_EQ(logged()[1].files.at(2).text, text);
    EXPECT_NE(logged()[0].digest(), logged()[1].digest());
}

TEST_F(LivePoller, RootNeedsItsOwnConsent)
{
    if (geteuid() != 0) GTEST_SKIP() << "the user is not root";
    auto const refused = run({"--watttime", "--credentials", "none"}, "0");
    EXPECT_EQ(refused.exit_code, 77);
    EXPECT_THAT(refused.errors, HasSubstr("CURTAIL_ALLOW_ROOT=1"));
    ASSERT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(LivePoller, NewFilesAreForTheirOwnerWhateverTheUmask)
{
    for (mode_t const mask : {0U, 02U, 0277U}) {
        auto const before = umask(mask);
        EXPECT_EQ(poll({}).exit_code, 0) << mask;
        umask(before);
        ASSERT_TRUE(job_runs());
        for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "out")) {
            struct stat status {};
            ASSERT_EQ(lstat(entry.path().c_str(), &status), 0) << entry.path();
            EXPECT_EQ(status.st_mode & 0777U, S_ISDIR(status.st_mode) ? 0700U : 0600U)
                << entry.path() << " with umask " << mask;
        }
        TearDown();
        std::filesystem::remove_all(folder_ / "out");
    }
}

TEST_F(LivePoller, RepeatsAWarningAboutFoldersOnlyAfterAChange)
{
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another group";
    ASSERT_EQ(chown(folder_.path().c_str(), 0, 65'534), 0);
    auto const warns = [&](unsigned mode, std::vector<std::string> const& options = {}) {
        chmod(folder_.path().c_str(), mode);
        auto const done = poll(options);
        EXPECT_EQ(done.exit_code, 0) << done.errors;
        return done.errors.find("can replace what is in") != std::string::npos;
    };
    EXPECT_TRUE(warns(0775, {"--dry-run"}));
    EXPECT_TRUE(warns(0775)) << "a dry run remembers nothing";
    EXPECT_FALSE(warns(0775));
    EXPECT_FALSE(warns(0755));
    EXPECT_TRUE(warns(0775)) << "it had been put right";
}

}  // namespace
}  // namespace curtail
