// SPDX-License-Identifier: Apache-2.0
// The cache of records with several processes, killed processes, and little space.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "protocol/chain/cache_fixture.hpp"

namespace curtail::chain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Runs `body` in a process of its own.
template <class Body>
pid_t start(Body body)
{
    pid_t const child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        _exit(body());
    }
    return child;
}

int exit_code_of(pid_t child)
{
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

TEST_F(Cache, SeveralProcessesMayFillItAtOnce)
{
    std::vector<pid_t> children;
    children.reserve(6);
    for (int child = 0; child < 6; ++child)
        children.push_back(start([&] {
            for (int i = 0; i < 30; ++i) {
                if (read() != run.chain()) return 1;
                if (child == 0 && i % 3 == 0) RecordCache(settings(), address, {"small"}).clear();
            }
            return warnings.empty() ? 0 : 2;
        }));
    for (pid_t const child : children) EXPECT_EQ(exit_code_of(child), 0);
    auto const records = RecordLog::open(file()).value().read_news().value().records;
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(records.back().offset + records.back().size + 1,
              static_cast<std::int64_t>(fs::file_size(file())))
        << "two processes wrote at the same place";
    EXPECT_EQ(read(), run.chain());
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
}

TEST_F(Cache, AProcessMayEmptyItWhileAnotherReads)
{
    (void)read();
    auto reader = RecordLog::open(file()).value();
    pid_t const child = start([&] {
        auto writer = RecordLog::open(file()).value();
        for (;;) {
            (void)writer.append({{"a", "x", sha256("x")}});
            (void)writer.clear();
        }
        return 0;
    });
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(reader.read_news());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(Cache, WhileAnotherProcessAppendsNewRecordsWait)
{
    (void)read();
    auto const size = fs::file_size(file());
    Fd const other(open(file().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
    RecordCache cache(settings(), address, run.spec().run);
    cache.add("commits/00000099.json", "x");
    cache.flush();
    EXPECT_EQ(fs::file_size(file()), size);
    flock(other.get(), LOCK_UN);
    cache.flush();
    EXPECT_GT(fs::file_size(file()), size);
    EXPECT_EQ(cache.newest("commits/00000099.json"), "x");
    EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Cache, AProcessThatIsKilledAtAnyTimeDoesNoHarm)
{
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
        pid_t const child = start([&] {
            for (;;) {
                (void)read();
                RecordCache(settings(), address, run.spec().run).clear();
            }
            return 0;
        });
        usleep(static_cast<useconds_t>(random() % 20'000));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_EQ(read(), run.chain());
    }
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
    EXPECT_THAT(warnings, IsEmpty());
}

// Reads the chain twice with a cache that cannot grow. Returns 0 if the results are right, there is
// one warning per read, and the file has only whole records.
template <class Read>
int read_with_little_space(Read read, std::vector<std::string> const& warnings)
{
    if (!read() || !read()) return 1;
    return warnings.size() == 2 ? 0 : 2;
}

TEST_F(Cache, AFileThatMayNotGrowIsLeftWithoutAPartialRecord)
{
    (void)read();
    auto const size = fs::file_size(file());
    RecordCache(settings(), address, run.spec().run).clear();
    EXPECT_EQ(exit_code_of(start([&] {
                  rlimit const limit{size / 2, size / 2};
                  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 255;
                  return read_with_little_space([&] { return read() == run.chain(); }, warnings);
              })),
              0);
    EXPECT_LT(fs::file_size(file()), 100U) << "only the first line";
    EXPECT_EQ(read(), run.chain());
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4) << "with space, it works again";
}

TEST_F(Cache, AFullDiskChangesNothing)
{
    run.continue_lone();
    fs::create_directory(folder / "cache");
    int const code = exit_code_of(start([&] {
        int const flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
        if (unshare(flags) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("tmpfs", (folder / "cache").c_str(), "tmpfs", 0, "size=16k") != 0)
            return 250;
        return read_with_little_space([&] { return read() == run.chain(); }, warnings);
    }));
    if (code == 250) GTEST_SKIP() << "mounting is not permitted";
    EXPECT_EQ(code, 0);
}

TEST_F(Cache, IsEmptiedBeforeItGrowsBeyondItsLimit)
{
    (void)read();
    // A sparse file whose only record ends just below the limit.
    auto const path = file();
    fs::resize_file(path, 0);
    {
        RecordCache cache(settings(), address, run.spec().run);
        cache.add("commits/00000001.json", "x");
    }
    auto log = RecordLog::open(path, 0600, 300'000).value();
    ASSERT_EQ(log.read_news().value().records.size(), 1U);
    std::string const big(200'000, 'x');
    ASSERT_TRUE(log.append({{"a", big, sha256(big)}}));
    auto const before = fs::file_size(path);
    ASSERT_GT(before, 200'000U);
    auto const news = log.append({{"b", big, sha256(big)}});
    ASSERT_TRUE(news);
    EXPECT_TRUE(news->emptied);
    ASSERT_EQ(news->records.size(), 1U);
    EXPECT_EQ(log.read(news->records[0]), big);
    EXPECT_LT(fs::file_size(path), before);
}

}  // namespace
}  // namespace curtail::chain
