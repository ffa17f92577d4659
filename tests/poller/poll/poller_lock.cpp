// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/poller_lock.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "base/core/json.hpp"
#include "base/process/identity.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::poll {
namespace {

using testing::HasSubstr;

class PollerLockTest : public testing::Test {
  protected:
    static constexpr Seconds lifetime{120};

    Result<PollerLock> take() { return PollerLock::take(folder_.path(), lifetime); }
    // The file that this process would write.
    static json::Object own()
    {
        auto const stat = process::read_process_stat(getpid());
        return {{"host", process::host_name()},
                {"boot", process::boot_id()},
                {"processes", std::filesystem::read_symlink("/proc/self/ns/pid").string()},
                {"pid", std::int64_t{getpid()}},
                {"started", static_cast<std::int64_t>(stat.value().started)},
                {"nonce", "abc"}};
    }
    void put(json::Object const& holder, Seconds age = {})
    {
        ASSERT_TRUE(write_file(file_, json::to_string(holder) + "\n"));
        timespec const then{time(nullptr) - age.count(), 0};
        timespec const times[2] = {then, then};
        ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
    }
    // The error of a poller that starts now; empty if it may act.
    std::string refusal()
    {
        auto const taken = take();
        if (taken) return "";
        EXPECT_EQ(taken.error().code, ExitCode::temporary);
        return taken.error().message();
    }
    std::size_t files_left()
    {
        auto const all = std::filesystem::directory_iterator(folder_.path());
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    test::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "holder.json";
};

TEST_F(PollerLockTest, IsGivenBackAndLeavesOnlyTheLockedFile)
{
    for (int i = 0; i < 2; ++i) {
        auto const taken = take();
        ASSERT_TRUE(taken) << taken.error().message();
        EXPECT_TRUE(taken->confirm());
        EXPECT_TRUE(std::filesystem::exists(file_));
    }
    EXPECT_EQ(files_left(), 1U);
}

TEST_F(PollerLockTest, HoldsAgainstAProcessThatLivesAlthoughTheFileIsNotLocked)
{
    put(own());
    EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(getpid()) + " on "));
    EXPECT_EQ(json::parse_file(file_)->as_object()->text_at("nonce"), "abc");
    put(own(), 10 * lifetime);
    EXPECT_NE(refusal(), "") << "a living process of this machine keeps it for ever";
}

TEST_F(PollerLockTest, OfADeadProcessOfThisBootIsTakenAtOnce)
{
    auto dead = own();
    dead.set("started", std::int64_t{1});  // the process id was used again
    put(dead);
    EXPECT_EQ(refusal(), "");
    dead = own();
    dead.set("pid", std::int64_t{(1 << 22) + 1});
    put(dead);
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(files_left(), 1U);
}

TEST_F(PollerLockTest, OfAnotherMachineIsTakenAfterItsLifetime)
{
    for (auto const* key : {"boot", "processes"}) {
        auto other = own();
        other.set("host", "login2").set(key, "another").set("pid", std::int64_t{(1 << 22) + 1});
        put(other, lifetime - Seconds{20});
        EXPECT_THAT(refusal(), HasSubstr("on 'login2' holds it since at most 1m4")) << key;
        put(other, lifetime + Seconds{5});
        EXPECT_EQ(refusal(), "") << key;
    }
}

TEST_F(PollerLockTest, OfAMachineThatHidesItsProcessesIsTakenAfterItsLifetime)
{
    auto other = own();
    other.set("host", "login2").set("boot", "unknown").set("processes", "");
    other.set("pid", std::int64_t{(1 << 22) + 1});
    put(other);
    EXPECT_NE(refusal(), "");
    put(other, lifetime + Seconds{5});
    EXPECT_EQ(refusal(), "");
}

TEST_F(PollerLockTest, RenewedInTheFutureIsFromBeforeTheServersClockWasSetBack)
{
    auto other = own();
    other.set("boot", "another");
    put(other, -lifetime + Seconds{20});
    EXPECT_THAT(refusal(), HasSubstr("since at most 0"));
    put(other, -lifetime - Seconds{20});
    EXPECT_EQ(refusal(), "");
}

TEST_F(PollerLockTest, WithSomethingElseInTheFilesPlaceIsTakenAfterItsLifetime)
{
    auto bad_pid = own();
    bad_pid.set("pid", (std::int64_t{1} << 32) + getpid());
    std::function<void()> const kinds[] = {
        [&] { std::filesystem::create_symlink("/nowhere/holder", file_); },
        [&] { ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0); },
        [&] { std::filesystem::create_directory(file_); },
        [&] { ASSERT_TRUE(write_file(file_, "")); }, [&] { put(bad_pid); }};
    for (auto const& make : kinds) {
        make();
        EXPECT_THAT(refusal(), HasSubstr("an unknown process"));
        timespec const times[2] = {{1, 0}, {1, 0}};
        ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
        EXPECT_EQ(refusal(), "");
        EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file_)));
    }
}

TEST_F(PollerLockTest, IsLostIfTheOwnFileIsCutOrAnotherKindOfFile)
{
    for (auto const* text : {"", "{\"host\":"}) {
        auto const taken = take();
        ASSERT_TRUE(taken) << taken.error().message();
        ASSERT_TRUE(write_file(file_, text));
        EXPECT_EQ(taken->confirm().error().code, ExitCode::temporary);
        std::filesystem::remove(file_);
    }
}

TEST_F(PollerLockTest, WithADamagedFileIsTakenAfterItsLifetime)
{
    ASSERT_TRUE(write_file(file_, "{"));
    EXPECT_THAT(refusal(), HasSubstr("an unknown process"));
    timespec const times[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
    EXPECT_EQ(refusal(), "");
}

TEST_F(PollerLockTest, IsLostOnceAnotherPollerHasTakenItOrTheFileIsGone)
{
    {
        auto const taken = take();
        put(own());
        EXPECT_THAT(taken->confirm().error().message(), HasSubstr("holds it by now"));
    }
    EXPECT_TRUE(std::filesystem::exists(file_)) << "the file of the other one stays";
    std::filesystem::remove(file_);
    auto const taken = take();
    std::filesystem::remove(file_);
    EXPECT_EQ(taken->confirm().error().code, ExitCode::temporary);
}

TEST_F(PollerLockTest, EachConfirmationRenewsIt)
{
    auto const taken = take();
    timespec const times[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
    ASSERT_TRUE(taken->confirm());
    struct stat status {};
    ASSERT_EQ(stat(file_.c_str(), &status), 0);
    EXPECT_GT(status.st_mtime, 1);
}

TEST_F(PollerLockTest, HoldsIfOnlyTheLockedFileIsRemoved)
{
    auto const taken = take();
    std::filesystem::remove(folder_ / "lock");
    EXPECT_NE(refusal(), "");
    EXPECT_TRUE(taken->confirm());
}

}  // namespace
}  // namespace curtail::poll
