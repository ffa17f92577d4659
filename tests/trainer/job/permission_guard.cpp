// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/permission_guard.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

// A job that sleeps, as after `scontrol suspend`, while its first permission ends.
class PermissionGuardTest : public testing::Test {
  protected:
    static constexpr Millis lifetime{300};

    Time permit(Millis length, std::int64_t serial, std::string const& why)
    {
        auto const now = SystemClock{}.now();
        EXPECT_TRUE(permission::write_permission(
            folder_.path(), {{"demo"}, {"A"}, serial, now, length, now + length, why}));
        return now + length;
    }
    // Why the job stops at its first look after the sleep, in which `meanwhile` happens. Empty if
    // it goes on.
    std::string end_after_sleep(std::function<void()> const& meanwhile)
    {
        auto const end = permit(lifetime, 1, "the window is open");
        int begin[2];
        int done[2];
        EXPECT_EQ(pipe(begin) + pipe(done), 0);
        pid_t const job = getpid();
        pid_t const others = fork();
        if (others == 0) {
            char byte{};
            (void)!read(begin[0], &byte, 1);
            kill(job, SIGSTOP);
            meanwhile();
            std::this_thread::sleep_for(end + Millis{50} - SystemClock{}.now());
            (void)!write(done[1], "x", 1);
            kill(job, SIGCONT);
            _exit(0);
        }
        StopSignal const stop;
        PermissionGuard guard(permission::Requirement::always, folder_.path(), {}, {"demo"}, {"A"},
                              stop, Log{});
        char byte{};
        EXPECT_EQ(write(begin[1], "x", 1), 1);
        EXPECT_EQ(read(done[0], &byte, 1), 1);
        guard.check();
        waitpid(others, nullptr, 0);
        for (int const fd : {begin[0], begin[1], done[0], done[1]}) close(fd);
        auto const ended = guard.ended();
        EXPECT_EQ(stop.raised(), ended.has_value());
        return ended ? ended->why : "";
    }

    test::TemporaryFolder folder_;
};

TEST_F(PermissionGuardTest, APermissionThatWasRenewedInTheSleepCounts)
{
    EXPECT_EQ(end_after_sleep([&] { permit(Seconds{100}, 2, "the window is open"); }), "");
}

TEST_F(PermissionGuardTest, APermissionThatWasWithdrawnInTheSleepEndsTheJobForThatReason)
{
    EXPECT_THAT(end_after_sleep([&] { permit(Millis{0}, 2, "the window is closed"); }),
                HasSubstr("'the window is closed'"));
}

TEST_F(PermissionGuardTest, WithoutAReadableFileAfterTheSleepTheOldPermissionCounts)
{
    auto const file = permission::permission_file(folder_.path());
    EXPECT_THAT(end_after_sleep([&] { (void)write_file(file, "{"); }), HasSubstr("has ended"));
}

TEST_F(PermissionGuardTest, WithoutARenewalTheJobEnds)
{
    EXPECT_THAT(end_after_sleep([] {}), HasSubstr("is the poller running?"));
}

}  // namespace
}  // namespace curtail::trainer
