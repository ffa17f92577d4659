// SPDX-License-Identifier: Apache-2.0
#include "base/process/command.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/process/child.hpp"
#include "base/process/identity.hpp"
#include "base/process/kernels.hpp"
#include "support/eventually.hpp"
#include "support/old_kernel.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::process {
namespace {

using testing::HasSubstr;

CommandSpec command(std::vector<std::string> arguments)
{
    return {std::move(arguments), plain_environment()};
}

class CommandTest : public testing::TestWithParam<NamedKernel> {
  protected:
    static Result<CommandResult> run(CommandSpec const& command)
    {
        return run_command(command, GetParam().kernel);
    }
};

INSTANTIATE_TEST_SUITE_P(Kernels, CommandTest, all_kernels(), kernel_name);

TEST_P(CommandTest, PassesArgumentsUnchanged)
{
    auto const done = run(command({"printf", "%s|", "a b", "$HOME", "'\"; rm -rf x", "*", ""}));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->output, "a b|$HOME|'\"; rm -rf x|*||");
    EXPECT_EQ(done->exit_code, 0);
}

class CommandOnRefusingKernel : public testing::TestWithParam<NamedKernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, CommandOnRefusingKernel, refusing_kernels(), kernel_name);

TEST_P(CommandOnRefusingKernel, RunsAndEndsAtTheDeadline)
{
    EXPECT_EQ(test::without_calls(new_calls, GetParam().error,
                                  [] {
                                      auto const done = run_command(command({"echo", "x"}));
                                      if (!done || done->output != "x\n") return 1;
                                      auto endless = command({"sleep", "600"});
                                      endless.deadline = Millis{100};
                                      auto const late = run_command(endless);
                                      if (late) return 2;
                                      return late.error().code == ExitCode::temporary ? 0 : 3;
                                  }),
              0);
}

TEST_P(CommandTest, PassesOnlyTheGivenEnvironment)
{
    setenv("CURTAIL_PLANTED_SECRET", "hunter2", 1);
    auto one = command({"env"});
    one.environment.emplace_back("EXTRA", "1");
    auto const done = run(one);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_THAT(done->output, testing::Not(HasSubstr("hunter2")));
    EXPECT_THAT(done->output, HasSubstr("EXTRA=1\n"));
    unsetenv("CURTAIL_PLANTED_SECRET");
}

TEST_P(CommandTest, ChildInheritsNoOpenFiles)
{
    test::TemporaryFolder const folder;
    Fd const lock(open((folder / "lock").c_str(), O_RDWR | O_CREAT,
                       0600));  // inheritable, like a lock without close-on-exec
    auto const done = run(command({"ls", "-l", "/proc/self/fd"}));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_THAT(done->output, testing::Not(HasSubstr("lock")));
}

TEST_P(CommandTest, FailureOfTheProgramIsAResult)
{
    auto const done = run(command({"ls", "/no/such/folder"}));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->exit_code, 2);
    EXPECT_THAT(done->errors, HasSubstr("No such file"));
    auto const killed = run(command({"bash", "-c", "kill -9 $$"}));
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->exit_code, 128 + 9);
}

TEST_P(CommandTest, LostExitCodeIsAnError)
{
    auto* const before = signal(SIGCHLD, SIG_IGN);
    auto const done = run(command({"false"}));
    signal(SIGCHLD, before);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::os_error);
}

TEST_P(CommandTest, ChildThatTheKernelDiscardedHasLostItsExitCode)
{
    auto* const before = signal(SIGCHLD, SIG_IGN);
    pid_t const pid = fork();
    if (pid == 0) _exit(0);
    EXPECT_FALSE(wait_for_exit(pid)) << "the kernel discards the child that ends";
    Child child(pid, GetParam().kernel);
    signal(SIGCHLD, before);
    EXPECT_EQ(child.error(), 0);
    EXPECT_TRUE(child.has_ended());
    EXPECT_FALSE(child.wait());
}

TEST_P(CommandTest, ChildDoesNotInheritIgnoredSignals)
{
    for (int const number : {SIGUSR1, SIGPIPE}) {
        auto* const before = signal(number, SIG_IGN);
        auto const done = run(command({"bash", "-c", "kill -$0 $$", std::to_string(number)}));
        signal(number, before);
        ASSERT_TRUE(done);
        EXPECT_EQ(done->exit_code, 128 + number);
    }
}

TEST_P(CommandTest, MissingProgramIsUnavailable)
{
    auto const done = run(command({"no-such-program"}));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::unavailable);
    EXPECT_THAT(done.error().message(), HasSubstr("it is not on the PATH"));
}

TEST_P(CommandTest, DeadlineKillsTheProcessGroup)
{
    test::TemporaryFolder const folder;
    auto const pid_file = (folder / "pid").string();
    auto one = command({"bash", "-c", "sleep 600 & echo $! > \"$0\"; wait", pid_file});
    one.deadline = Millis(500);
    auto const begun = monotonic_now();
    auto const done = run(one);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::temporary);
    EXPECT_LT(monotonic_now() - begun, Millis(5'000));
    auto const grandchild = std::stoi(read_file(pid_file).value());
    EXPECT_TRUE(test::eventually([&] {
        auto const stat = read_process_stat(grandchild);
        return !stat || stat->state == 'Z';
    }));
}

TEST_P(CommandTest, AStopRequestKillsTheProcessGroup)
{
    test::TemporaryFolder const folder;
    auto const pid_file = (folder / "pid").string();
    std::stop_source stop;
    auto one = command({"bash", "-c", "echo $$ > \"$0\"; sleep 600", pid_file});
    one.deadline = Seconds{60};
    one.cancel = stop.get_token();
    std::jthread const canceller([&] {
        EXPECT_TRUE(
            test::eventually([&] { return read_file(pid_file).value_or("").ends_with('\n'); }));
        stop.request_stop();
    });
    auto const begun = monotonic_now();
    auto const done = run(one);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::temporary);
    EXPECT_LT(monotonic_now() - begun, Seconds{20});
    EXPECT_FALSE(read_process_stat(std::stoi(read_file(pid_file).value())));
}

TEST_P(CommandTest, ReturnsAtTheProgramsEndThoughADescendantHoldsItsOutput)
{
    auto one = command({"bash", "-c", "sleep 20 & echo $!"});
    auto const begun = monotonic_now();
    auto const done = run(one);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_LT(monotonic_now() - begun, Millis(8'000));
    kill(std::stoi(done->output), SIGKILL);
}

TEST_P(CommandTest, AcceptsOutputUpToItsLimit)
{
    auto one = command({"head", "-c", "1000", "/dev/zero"});
    one.output_limit = 1000;
    ASSERT_TRUE(run(one));
    one.output_limit = 999;
    auto const done = run(one);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::data);
}

TEST_P(CommandTest, CommandDiesWithItsCaller)
{
    test::TemporaryFolder const folder;
    auto const pid_file = (folder / "pid").string();
    pid_t const caller = fork();
    if (caller == 0) {
        (void)run(command({"bash", "-c", "echo $$ > \"$0\"; exec sleep 600", pid_file}));
        _exit(0);
    }
    ASSERT_TRUE(test::eventually([&] { return read_file(pid_file).value_or("").ends_with('\n'); }));
    auto const child = std::stoi(read_file(pid_file).value());
    kill(caller, SIGKILL);
    waitpid(caller, nullptr, 0);
    EXPECT_TRUE(test::eventually([&] {
        auto const stat = read_process_stat(child);
        return !stat || stat->state == 'Z';
    }));
}

}  // namespace
}  // namespace curtail::process
