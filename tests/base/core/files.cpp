// SPDX-License-Identifier: Apache-2.0
#include "base/core/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "support/temporary_folder.hpp"

namespace {
int lock_error = 0;            // of the next flock; 0: it works
std::function<void()> locked;  // called after a flock that found the lock taken
}  // namespace

extern "C" int flock(int fd, int operation) noexcept
{
    if (lock_error != 0) {
        errno = lock_error;
        return -1;
    }
    auto const result = static_cast<int>(syscall(SYS_flock, fd, operation));
    int const error = errno;
    if (result != 0 && error == EWOULDBLOCK && locked) locked();
    errno = error;
    return result;
}

namespace curtail {
namespace {

using testing::HasSubstr;

TEST(Files, WriteReplacesTheFileAndLeavesNoTemporary)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a", "one"));
    ASSERT_TRUE(write_file(folder / "a", "two"));
    EXPECT_EQ(*read_file(folder / "a"), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, FailedReplacementKeepsTheOldFile)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a", "old"));
    auto const failed = replace_file(
        folder / "a", [](auto const&) -> Result<void> { return fail(ExitCode::io, "x", "y"); });
    EXPECT_FALSE(failed);
    EXPECT_EQ(*read_file(folder / "a"), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// Lets no file grow beyond `bytes` while it exists. A longer write fails as on a full disk.
class SmallDisk {
  public:
    explicit SmallDisk(rlim_t bytes)
    {
        signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const small{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
    SmallDisk(SmallDisk const&) = delete;
    SmallDisk& operator=(SmallDisk const&) = delete;

  private:
    rlimit before_{};
};

// The first write fails, or a later one.
TEST(Files, AFailedWriteLeavesTheOldFile)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a", "old"));
    std::string const larger(80'000, 'x');
    for (std::size_t const space : {std::size_t{0}, larger.size() / 2, larger.size() - 1}) {
        SCOPED_TRACE(space);
        auto const failed = [&] {
            SmallDisk const disk(space);
            return write_file(folder / "a", larger);
        }();
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, ExitCode::io) << failed.error().message();
        EXPECT_EQ(read_file(folder / "a").value_or("no file"), "old");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
            << "a temporary file stays";
    }
    ASSERT_TRUE(write_file(folder / "a", larger));
    EXPECT_EQ(*read_file(folder / "a"), larger) << "with space, it works";
}

TEST(Files, MissingFolderCannotBeWrittenTo)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(write_file(folder.path() / "none" / "a", "x").error().code, ExitCode::cannot_create);
}

TEST(Files, MissingFileIsNoInputAndTooLongFileIsADataError)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(read_file(folder / "none").error().code, ExitCode::no_input);
    EXPECT_EQ(*read_file_if_exists(folder / "none"), std::nullopt);
    ASSERT_TRUE(write_file(folder / "a", "12345"));
    EXPECT_EQ(*read_file(folder / "a", 5), "12345");
    EXPECT_EQ(read_file(folder / "a", 4).error().code, ExitCode::data);
}

class SpecialFiles : public testing::Test {
  protected:
    // A path of each type that is not a regular file.
    std::map<std::string, std::filesystem::path> paths()
    {
        mkfifo((folder / "pipe").c_str(), 0600);
        std::filesystem::create_directory(folder / "folder");
        listener.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address),
                  0);
        return {{"a pipe", folder / "pipe"},
                {"a folder", folder / "folder"},
                {"a socket", folder / "socket"},
                {"a device", "/dev/null"}};
    }
    test::TemporaryFolder folder;
    Fd listener;
};

TEST_F(SpecialFiles, AreRefusedByNameWithoutBlocking)
{
    for (auto const& [type, path] : paths()) {
        auto const read = read_file(path);
        ASSERT_FALSE(read) << path;
        EXPECT_EQ(read.error().code, ExitCode::no_input);
        EXPECT_THAT(read.error().message(), HasSubstr("it is " + type + ", not a regular file"));
        EXPECT_FALSE(read_file_if_exists(path)) << path;
    }
}

TEST(Descriptors, AreReadToTheirEndWithinTheLimit)
{
    auto const from_pipe = [](std::int64_t limit) {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        Fd const reader(ends[0]);
        Fd writer(ends[1]);
        EXPECT_EQ(write_all(writer.get(), "12345"), 0);
        writer.reset();
        return read_descriptor(reader.get(), "standard input", limit);
    };
    EXPECT_EQ(from_pipe(5).value_or(""), "12345");
    auto const too_long = from_pipe(4);
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, ExitCode::data);
    EXPECT_THAT(too_long.error().message(),
                HasSubstr("cannot read standard input: it is longer than 4 bytes"));
}

// Appends lines until one does not fit into a file of `limit` bytes, then one more without a limit.
// Returns 0 if each call succeeds or fails as it should.
int append_across_a_limit(std::filesystem::path const& path, rlim_t limit)
{
    auto disk = std::make_optional<SmallDisk>(limit);
    auto const fits = append_line(path, "first", true);
    auto const too_long = append_line(path, "second", true);
    auto const too_late = append_line(path, "third", true);
    disk.reset();
    auto const again = append_line(path, "fourth", true);
    return fits && !too_long && !too_late && again ? 0 : 1;
}

TEST(AppendedLines, BeginOnAFreshLineAfterOneThatDidNotFit)
{
    test::TemporaryFolder const folder;
    EXPECT_EXIT(std::_Exit(append_across_a_limit(folder / "log", 9)), testing::ExitedWithCode(0),
                "");
    EXPECT_EQ(*read_file(folder / "log"), "first\nsec\nfourth\n");
}

TEST(AppendedLines, NeverFollowALinkOrFillAPipe)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "victim", "its content"));
    std::filesystem::create_symlink(folder / "victim", folder / "link");
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    auto const linked = append_line(folder / "link", "line", false);
    ASSERT_FALSE(linked);
    EXPECT_EQ(linked.error().code, ExitCode::cannot_create);
    EXPECT_THAT(linked.error().message(),
                HasSubstr("link: it is a symbolic link; remove the link"));
    EXPECT_EQ(*read_file(folder / "victim"), "its content");
    auto const piped = append_line(folder / "pipe", "line", false);
    ASSERT_FALSE(piped);
    EXPECT_THAT(piped.error().message(), HasSubstr("it is a pipe, not a regular file"));
}

TEST(Files, AReplacedLinkLeavesItsTargetAlone)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "victim", "its content"));
    std::filesystem::create_symlink(folder / "victim", folder / "status.json");
    ASSERT_TRUE(write_file(folder / "status.json", "new"));
    EXPECT_EQ(*read_file(folder / "victim"), "its content");
    EXPECT_EQ(*read_file(folder / "status.json"), "new");
}

TEST(Files, AFileSystemWithoutLocksIsNamedAsTheReason)
{
    test::TemporaryFolder const folder;
    lock_error = ENOSYS;
    auto const lock = FileLock::take(folder / "lock");
    lock_error = 0;
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, ExitCode::os_error);
    EXPECT_THAT(lock.error().message(), testing::HasSubstr("its file system does not lock files"));
    EXPECT_THAT(lock.error().message(), testing::HasSubstr("`flock`"));
}

TEST(Files, AFolderInPlaceOfAFileIsAnErrorThatSaysWhatToDo)
{
    test::TemporaryFolder const folder;
    std::filesystem::create_directories(folder / "a");
    auto const lock = FileLock::take(folder / "a");
    ASSERT_FALSE(lock);
    EXPECT_THAT(lock.error().remedy, HasSubstr("remove the folder"));
    for (auto const& result :
         {write_file(folder / "a", "x"), append_line(folder / "a", "x", false)}) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ExitCode::cannot_create);
        EXPECT_THAT(result.error().remedy, HasSubstr("remove the folder"));
    }
}

TEST(Files, LockHasOneHolderAndIsReleasedWithIt)
{
    test::TemporaryFolder const folder;
    {
        auto const first = FileLock::take(folder / "lock");
        ASSERT_TRUE(first);
        auto const second = FileLock::take(folder / "lock");
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ExitCode::temporary);
        EXPECT_THAT(second.error().message(),
                    HasSubstr("process " + std::to_string(getpid()) + " on "));
    }
    EXPECT_TRUE(FileLock::take(folder / "lock"));
}

// A child between fork and exec has the lock of its parent. With a living parent, nobody waits.
TEST(Files, LockWaitsForTheChildOfAHolderThatWasKilled)
{
    test::TemporaryFolder const folder;
    int ready[2];
    int end[2];
    ASSERT_TRUE(pipe(ready) == 0 && pipe(end) == 0);
    pid_t const holder = fork();
    if (holder == 0) {
        auto const lock = FileLock::take(folder / "lock");
        if (fork() == 0) {
            char any = 0;
            (void)!read(end[0], &any, 1);
            _exit(0);
        }
        (void)!write(ready[1], lock ? "y" : "n", 1);
        pause();
    }
    char has_lock = 'n';
    ASSERT_EQ(read(ready[0], &has_lock, 1), 1);
    EXPECT_EQ(has_lock, 'y');
    EXPECT_FALSE(FileLock::take(folder / "lock"));
    kill(holder, SIGKILL);
    ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
    int waits = 0;
    locked = [&] {
        if (++waits == 3) (void)!write(end[1], "e", 1);
    };
    EXPECT_TRUE(FileLock::take(folder / "lock"));
    locked = {};
    EXPECT_GE(waits, 3);
    for (int const fd : {ready[0], ready[1], end[0], end[1]}) close(fd);
}

}  // namespace
}  // namespace curtail
