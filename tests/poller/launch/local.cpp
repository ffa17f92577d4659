// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/local.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <map>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/process/kernels.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using test::eventually;

class Local : public testing::Test {
  protected:
    LocalLauncher with_script(std::string const& body)
    {
        auto const script = folder_ / "job.sh";
        EXPECT_TRUE(write_file(script, "#!/bin/bash\n" + body + "\n", 0755));
        JobSpec spec;
        spec.run = {"demo"};
        spec.site = {"A"};
        spec.folder_id = "1f2e3d4c";
        spec.run_file = "/run.json";
        spec.folder = folder_ / "site";
        spec.logs = folder_ / "site/job-logs";
        spec.launch.script = script;
        return LocalLauncher(spec, kernel_);
    }
    plan::Job only_job(LocalLauncher& launcher)
    {
        auto const jobs = launcher.jobs();
        EXPECT_TRUE(jobs && jobs->size() == 1) << (jobs ? "not one job" : jobs.error().message());
        return jobs && jobs->size() == 1 ? jobs->front() : plan::Job{};
    }
    bool ends(LocalLauncher& launcher)
    {
        return eventually([&] { return only_job(launcher).state == State::ended; });
    }
    // Ends what the test started. The supervisor of a killed poller may start a job late.
    void TearDown() override
    {
        auto launcher = with_script("");
        auto jobs = launcher.jobs().value();
        auto const all_ended = [&] {
            jobs = launcher.jobs().value();
            return std::all_of(jobs.begin(), jobs.end(),
                               [](auto const& job) { return job.state == State::ended; });
        };
        if (eventually(all_ended)) return;
        for (auto const& job : jobs) {
            if (job.state == State::ended) continue;
            ADD_FAILURE() << "job " << job.id.value << " still runs";
            (void)launcher.cancel(job.id, false);
        }
    }

    test::TemporaryFolder folder_;
    process::Kernel kernel_;
};

TEST_F(Local, NeverWritesItsLogThroughALinkOrIntoAPipe)
{
    auto launcher = with_script("echo hello");
    std::filesystem::create_directory(folder_ / "site");
    ASSERT_EQ(mkdir((folder_ / "site/job-logs").c_str(), 0700), 0);
    auto const target = folder_ / "precious";
    ASSERT_TRUE(write_file(target, "kept\n"));
    std::filesystem::create_symlink(target, folder_ / "site/job-logs/job-i1.log");
    ASSERT_EQ(mkfifo((folder_ / "site/job-logs/job-i2.log").c_str(), 0600), 0);
    for (std::string const intent : {"i1", "i2"}) {
        auto const job = launcher.submit({"w"}, {intent});
        ASSERT_FALSE(job) << intent;
        EXPECT_EQ(job.error().code, ExitCode::cannot_create);
        EXPECT_THAT(job.error().message(), testing::HasSubstr("job-" + intent + ".log"));
    }
    EXPECT_EQ(read_file(target).value(), "kept\n");
    EXPECT_TRUE(launcher.jobs().value().empty()) << "no job has started";
}

// Tests of system calls that have fallbacks.
class LocalOnEachKernel : public Local, public testing::WithParamInterface<process::NamedKernel> {
  protected:
    LocalOnEachKernel() { kernel_ = GetParam().kernel; }
};
INSTANTIATE_TEST_SUITE_P(Kernels, LocalOnEachKernel, process::all_kernels(), process::kernel_name);

TEST_P(LocalOnEachKernel, JobRunsItsScriptAndRecordsItsExitCode)
{
    auto launcher = with_script("echo \"$@ $CURTAIL_JOB\"; exit 3");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    auto const job = only_job(launcher);
    EXPECT_EQ(job.exit_code, 3);
    EXPECT_EQ(job.launcher_state, "FAILED");
    EXPECT_EQ(job.window.value, "w1");
    EXPECT_EQ(job.intent.value, "i1");
    EXPECT_EQ(read_file(folder_ / "site/job-logs/job-i1.log").value(), "/run.json A i1\n");
}

TEST_P(LocalOnEachKernel, JobDoesNotInheritAnIgnoredSignal)
{
    auto launcher = with_script("kill -PIPE $$");
    auto* const before = signal(SIGPIPE, SIG_IGN);
    auto const started = launcher.submit({"w1"}, {"i1"});
    signal(SIGPIPE, before);
    ASSERT_TRUE(started);
    ASSERT_TRUE(ends(launcher));
    EXPECT_EQ(only_job(launcher).exit_code, 128 + SIGPIPE);
}

TEST_F(Local, SameIntentStartsOneJob)
{
    auto launcher = with_script("echo started");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    EXPECT_EQ(only_job(launcher).state, State::ended);
    EXPECT_EQ(read_file(folder_ / "site/job-logs/job-i1.log").value(), "started\n");
}

TEST_P(LocalOnEachKernel, DrainReachesTheScript)
{
    auto launcher = with_script("trap 'exit 0' USR1\necho ready\nwhile :; do sleep 0.05; done");
    auto const job = launcher.submit({"w1"}, {"i1"}).value();
    ASSERT_TRUE(eventually(
        [&] { return read_file(folder_ / "site/job-logs/job-i1.log").value_or("") == "ready\n"; }));
    EXPECT_EQ(only_job(launcher).state, State::running);
    ASSERT_TRUE(launcher.cancel(job, true));
    EXPECT_EQ(only_job(launcher).state, State::running) << "the job is not pending";
    ASSERT_TRUE(launcher.drain(job));
    ASSERT_TRUE(ends(launcher));
    EXPECT_EQ(only_job(launcher).launcher_state, "COMPLETED");
}

TEST_P(LocalOnEachKernel, CancelEndsAllProcessesOfTheJob)
{
    auto launcher = with_script("setsid() { :; }\nset -m\nsleep 600 &\necho $!\nwait");
    auto const job = launcher.submit({"w1"}, {"i1"}).value();
    ASSERT_TRUE(eventually([&] {
        return read_file(folder_ / "site/job-logs/job-i1.log").value_or("").ends_with('\n');
    }));
    auto const child = std::stoi(read_file(folder_ / "site/job-logs/job-i1.log").value());
    ASSERT_TRUE(launcher.cancel(job, false));
    ASSERT_TRUE(ends(launcher));
    // A dying process no longer counts as part of the job, but may be visible a little longer.
    auto const gone = [&] {
        auto const stat = process::read_process_stat(child);
        return !stat || stat->state == 'Z';
    };
    EXPECT_TRUE(eventually(gone)) << "its own process group does not hide it";
    EXPECT_EQ(only_job(launcher).exit_code, 128 + SIGTERM);
}

TEST_F(Local, CancelSendsTermToAllProcessesBeforeKill)
{
    auto launcher = with_script(
        "(trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.05; done) &\ntrap '' "
        "TERM\necho ready\nwait\necho over; exit 4");
    auto const job = launcher.submit({"w1"}, {"i1"}).value();
    auto const log = [&] { return read_file(folder_ / "site/job-logs/job-i1.log").value_or(""); };
    ASSERT_TRUE(eventually([&] { return log() == "ready\nready\n"; }));
    ASSERT_TRUE(launcher.cancel(job, false));
    ASSERT_TRUE(ends(launcher));
    EXPECT_THAT(log(), testing::EndsWith("asked\nover\n"));
    EXPECT_EQ(only_job(launcher).exit_code, 4);
}

TEST_F(Local, JobOutlivesAPollerThatIsKilled)
{
    auto launcher = with_script("trap 'exit 0' USR1\necho ready\nwhile :; do sleep 0.05; done");
    pid_t const poller = fork();
    if (poller == 0) {
        (void)launcher.submit({"w1"}, {"i1"});
        pause();
        _exit(0);
    }
    ASSERT_TRUE(eventually(
        [&] { return read_file(folder_ / "site/job-logs/job-i1.log").value_or("") == "ready\n"; }));
    kill(poller, SIGKILL);
    waitpid(poller, nullptr, 0);
    EXPECT_EQ(only_job(launcher).state, State::running);
    ASSERT_TRUE(launcher.drain({"i1"}));
    ASSERT_TRUE(ends(launcher));
    EXPECT_EQ(only_job(launcher).exit_code, 0) << "its supervisor keeps running too";
}

TEST_F(Local, PollerKilledAtAnyTimeStartsARecordedJobOrNone)
{
    auto launcher = with_script("echo $$ >> \"$PWD/started\"");
    for (int microseconds = 0; microseconds < 4000; microseconds += 100) {
        auto const intent = "i" + std::to_string(microseconds);
        pid_t const poller = fork();
        if (poller == 0) {
            (void)launcher.submit({"w1"}, {intent});
            _exit(0);
        }
        usleep(static_cast<useconds_t>(microseconds));
        kill(poller, SIGKILL);
        waitpid(poller, nullptr, 0);
    }
    auto const started = [&] {
        auto const lines = read_file(folder_ / "site/job-logs/started").value_or("");
        return std::count(lines.begin(), lines.end(), '\n');
    };
    EXPECT_TRUE(eventually([&] {
        auto const jobs = launcher.jobs().value();
        return std::all_of(jobs.begin(), jobs.end(),
                           [](auto const& job) { return job.state == State::ended; }) &&
               started() == static_cast<long>(jobs.size());
    }));
}

TEST_F(Local, SupervisorWithoutARecordStartsNothing)
{
    auto launcher = with_script("mkdir \"$PWD/started\"");
    pid_t const poller = fork();
    if (poller == 0) {
        rlimit const no_bytes{0, 0};  // SIGXFSZ kills the supervisor as it writes
        setrlimit(RLIMIT_FSIZE, &no_bytes);
        _exit(launcher.submit({"w1"}, {"i1"}) ? 1 : 0);
    }
    int status = 0;
    waitpid(poller, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the submission must fail";
    EXPECT_FALSE(
        eventually([&] { return std::filesystem::exists(folder_ / "site/job-logs/started"); },
                   std::chrono::milliseconds(300)));
    EXPECT_TRUE(launcher.jobs().value().empty());
}

TEST_P(LocalOnEachKernel, ListingEndsNothingAndCancelEndsLeftovers)
{
    auto launcher = with_script(
        "trap '' TERM\n(echo ready; exec sleep 600) &\nwhile [ ! -e \"$PWD/go\" ]; do sleep 0.02; "
        "done; exit 4");
    auto const job = launcher.submit({"w1"}, {"i1"}).value();
    ASSERT_TRUE(eventually(
        [&] { return read_file(folder_ / "site/job-logs/job-i1.log").value_or("") == "ready\n"; }));
    ASSERT_TRUE(write_file(folder_ / "site/job-logs/go", ""));
    ASSERT_TRUE(eventually([&] { return only_job(launcher).state == State::ending; }));
    for (int i = 0; i < 20; ++i) ASSERT_EQ(only_job(launcher).state, State::ending);
    EXPECT_TRUE(only_job(launcher).leftovers);
    ASSERT_TRUE(launcher.cancel(job, false));
    ASSERT_EQ(only_job(launcher).state, State::ending) << "it ignores TERM";
    auto const earlier =
        std::filesystem::last_write_time(folder_ / "site/jobs/i1.cancel") - std::chrono::seconds(5);
    std::filesystem::last_write_time(folder_ / "site/jobs/i1.cancel", earlier);
    ASSERT_TRUE(launcher.cancel(job, false));
    ASSERT_TRUE(ends(launcher));
    EXPECT_EQ(only_job(launcher).exit_code, 4);
    EXPECT_FALSE(only_job(launcher).leftovers);
}

TEST_F(Local, JobOfAnotherHostCountsAsEnding)
{
    auto launcher = with_script("sleep 0");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    auto const record = folder_ / "site/jobs/i1.json";
    auto text = read_file(record).value();
    auto const host = "\"host\":\"" + process::host_name() + "\"";
    ASSERT_NE(text.find(host), std::string::npos) << text;
    text.replace(text.find(host), host.size(), "\"host\":\"elsewhere\"");
    ASSERT_TRUE(write_file(record, text));
    EXPECT_EQ(only_job(launcher).launcher_state, "COMPLETED") << "its exit code is sufficient";
    std::filesystem::remove(folder_ / "site/jobs/i1.exit");
    EXPECT_EQ(only_job(launcher).state, State::ending);
    EXPECT_THAT(
        only_job(launcher).warning,
        testing::HasSubstr("job i1 was started on elsewhere and is not visible from this machine"));
    std::filesystem::remove(record);
}

TEST_P(LocalOnEachKernel, PollersOutputEndsThoughItsJobRuns)
{
    auto launcher = with_script("trap 'exit 0' USR1\necho ready\nwhile :; do sleep 0.05; done");
    int ends_of_pipe[2];
    ASSERT_EQ(pipe(ends_of_pipe), 0);
    pid_t const poller = fork();
    if (poller == 0) {
        for (int const fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(ends_of_pipe[1], fd);
        close(ends_of_pipe[0]);
        close(ends_of_pipe[1]);
        _exit(launcher.submit({"w1"}, {"i1"}) ? 0 : 1);
    }
    close(ends_of_pipe[1]);
    pollfd reader{ends_of_pipe[0], 0, 0};
    EXPECT_EQ(::poll(&reader, 1, 5'000), 1) << "a process still holds the pipe";
    close(ends_of_pipe[0]);
    waitpid(poller, nullptr, 0);
    ASSERT_TRUE(eventually(
        [&] { return read_file(folder_ / "site/job-logs/job-i1.log").value_or("") == "ready\n"; }));
    ASSERT_TRUE(launcher.drain({"i1"}));
    EXPECT_TRUE(ends(launcher));
}

TEST_F(Local, StaleRecordDoesNotMatchAnotherProcess)
{
    auto launcher = with_script("sleep 0");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    auto text = read_file(folder_ / "site/jobs/i1.json").value();
    std::filesystem::remove(folder_ / "site/jobs/i1.exit");
    // A record of a process whose number this test now has.
    auto const at = text.find("\"pid\":") + 6;
    text.replace(at, text.find(',', at) - at, std::to_string(getpid()));
    ASSERT_TRUE(write_file(folder_ / "site/jobs/i1.json", text));
    EXPECT_EQ(only_job(launcher).launcher_state, "LOST");
    EXPECT_EQ(only_job(launcher).end, plan::Job::End::unknown) << "no failure";
    ASSERT_TRUE(launcher.cancel({"i1"}, false)) << "and the test survives";
}

TEST_F(Local, CleanEndIsNeverReportedAsLost)
{
    auto launcher = with_script("exit 0");
    std::map<std::string, int> words;
    for (int i = 0; i < 40; ++i) {
        auto const id = launcher.submit({"w1"}, {"i" + std::to_string(i)}).value();
        std::string word;
        // Lists without a pause, to catch the end as it happens.
        for (auto const late = monotonic_now() + Millis(20'000);
             word.empty() && monotonic_now() < late;) {
            auto const jobs = launcher.jobs().value();
            for (auto const& job : jobs)
                if (job.id == id && job.state == State::ended) word = job.launcher_state;
        }
        ++words[word];
    }
    EXPECT_THAT(words, testing::ElementsAre(std::pair("COMPLETED", 40)));
}

// Creates a process in a session whose leader has ended. Returns the numbers of session and
// process.
std::pair<pid_t, pid_t> orphan_session()
{
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t const leader = fork();
    if (leader == 0) {
        setsid();
        pid_t const member = fork();
        if (member == 0) {
            close(ends[0]);
            close(ends[1]);
            execl("/bin/sleep", "sleep", "600", nullptr);
            _exit(127);
        }
        _exit(write(ends[1], &member, sizeof member) == sizeof member ? 0 : 1);
    }
    waitpid(leader, nullptr, 0);
    pid_t member = 0;
    EXPECT_EQ(read(ends[0], &member, sizeof member), static_cast<ssize_t>(sizeof member));
    close(ends[0]);
    close(ends[1]);
    return {leader, member};
}

TEST_F(Local, ForeignSessionWithAReusedNumberIsNotSignalled)
{
    auto launcher = with_script("exit 0");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    auto const [session, foreign] = orphan_session();
    auto text = read_file(folder_ / "site/jobs/i1.json").value();
    auto const at = text.find("\"pid\":") + 6;
    text.replace(at, text.find(',', at) - at, std::to_string(session));
    ASSERT_TRUE(write_file(folder_ / "site/jobs/i1.json", text));
    EXPECT_EQ(only_job(launcher).state, State::ended);
    ASSERT_TRUE(launcher.cancel({"i1"}, false));
    auto const stat = process::read_process_stat(foreign);
    EXPECT_TRUE(stat && stat->state != 'Z') << "it is not ours";
    EXPECT_FALSE(eventually([pid = foreign] { return !process::read_process_stat(pid); },
                            std::chrono::milliseconds(200)));
    kill(foreign, SIGKILL);
}

// In a shared run, others can write records.
TEST_F(Local, RecordOfAnotherProcessOfTheUserSignalsNothing)
{
    auto launcher = with_script("exit 0");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    pid_t const other = fork();
    if (other == 0) {
        setsid();
        pause();
        _exit(0);
    }
    ASSERT_TRUE(eventually([&] {
        auto const stat = process::read_process_stat(other);
        return stat && stat->session == other;
    }));
    auto const started = process::read_process_stat(other)->started;
    auto text = read_file(folder_ / "site/jobs/i1.json").value();
    auto const at = text.find("\"script\":") + 9;
    text.replace(at, text.find('}', at) - at,
                 "{\"pid\":" + std::to_string(other) + ",\"started\":" + std::to_string(started));
    ASSERT_TRUE(write_file(folder_ / "site/jobs/i1.json", text));
    EXPECT_EQ(only_job(launcher).state, State::running) << text;
    ASSERT_TRUE(launcher.drain({"i1"}));
    ASSERT_TRUE(launcher.cancel({"i1"}, false));
    int status = 0;
    EXPECT_FALSE(eventually([&] { return waitpid(other, &status, WNOHANG) == other; },
                            std::chrono::milliseconds(200)));
    kill(other, SIGKILL);
    waitpid(other, &status, 0);
}

TEST_F(Local, ListingManyEndedJobsIsFast)
{
    auto launcher = with_script("exit 0");
    ASSERT_TRUE(launcher.submit({"w1"}, {"i1"}));
    ASSERT_TRUE(ends(launcher));
    for (int i = 2; i < 500; ++i)
        for (auto const* ending : {".json", ".exit"})
            std::filesystem::copy_file(folder_ / ("site/jobs/i1" + std::string(ending)),
                                       folder_ / ("site/jobs/i" + std::to_string(i) + ending));
    auto const begun = std::clock();
    EXPECT_EQ(launcher.jobs().value().size(), 499U);
    EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 0.5)
        << "CPU seconds of this process";
}

TEST_F(Local, MissingScriptIsAnError)
{
    JobSpec spec;
    spec.folder = folder_ / "site";
    spec.logs = folder_ / "logs";
    spec.launch.script = folder_ / "none.sh";
    auto const job = LocalLauncher(spec).submit({"w"}, {"i"});
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ExitCode::os_error);
    EXPECT_THAT(job.error().message(), testing::HasSubstr("none.sh: No such file"));
}

}  // namespace
}  // namespace curtail::launch
