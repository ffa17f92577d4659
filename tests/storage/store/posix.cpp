// SPDX-License-Identifier: Apache-2.0
// A store of files: several processes, permissions, links, full disks.
#include "storage/store/posix_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");
ObjectName const payload = *ObjectName::parse("runs/r/models/1/A.0123abcd.1-1/w.h5");

std::unique_ptr<PosixStore> open_at(fs::path const& root, Lookup lookup = Lookup::kernel)
{
    auto opened = PosixStore::open(root, IfMissing::refuse, lookup);
    if (!opened) throw std::runtime_error(opened.error().message());
    return std::move(*opened);
}

// Runs `body` in a process of its own, whose exit code is its result (0 to 255).
template <class Body>
pid_t start(Body body)
{
    pid_t const child = fork();
    if (child == 0) _exit(body());
    return child;
}

int exit_code_of(pid_t child)
{
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

template <class T>
ExitCode code_of(Result<T> const& result)
{
    return result ? ExitCode::ok : result.error().code;
}

// All names below `folder` that end in .tmp.
std::vector<std::string> temporaries_in(fs::path const& folder)
{
    std::vector<std::string> found;
    for (auto const& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".tmp") found.push_back(entry.path().string());
    return found;
}

TEST(PosixStore, ExactlyOneOfManyProcessesCreates)
{
    test::TemporaryFolder const folder;
    constexpr int writers = 8;
    constexpr int objects = 25;
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    children.reserve(writers);
    for (int w = 0; w < writers; ++w)
        children.push_back(start([&] {
            auto const store = open_at(folder.path());
            close(gate[1]);
            char go = 0;
            if (read(gate[0], &go, 1) != 0)
                return 255;  // the parent starts all at once by closing the pipe
            int won = 0;
            for (int n = 1; n <= objects; ++n) {
                auto const name =
                    *ObjectName::parse("runs/r/merge/" + std::to_string(n) + "/1.json");
                auto const outcome = store->create(name, bytes_of("writer " + std::to_string(w)));
                if (!outcome || *outcome == CreateOutcome::unknown) return 255;
                if (*outcome != CreateOutcome::created) continue;
                ++won;
                if (text_of(*store->get(name, {100}).value()) != "writer " + std::to_string(w))
                    return 254;
            }
            return won;
        }));
    close(gate[0]);
    close(gate[1]);
    int won = 0;
    for (pid_t const child : children) {
        int const code = exit_code_of(child);
        ASSERT_GE(code, 0);
        ASSERT_LT(code, 250) << "a writer failed";
        won += code;
    }
    EXPECT_EQ(won, objects);
    EXPECT_TRUE(temporaries_in(folder.path()).empty());
}

TEST(PosixStore, AMissingRootIsAnErrorUnlessARunStarts)
{
    test::TemporaryFolder const folder;
    auto const refused = open_store(Address::of_folder(folder / "gone"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_THAT(refused.error().message(), HasSubstr("mount it"));
    EXPECT_THAT(refused.error().message(), HasSubstr("mkdir -p " + (folder / "gone").string()));
    EXPECT_TRUE(open_store(Address::of_folder(folder / "gone"), IfMissing::make));
    EXPECT_TRUE(open_store(Address::of_folder(folder / "gone")));
}

TEST(PosixStore, AnInvalidAddressIsAConfigurationError)
{
    using namespace std::string_literals;
    for (auto const& bad : {""s, "file:"s, "file://"s, "file:///"s, "file://relative"s, "/folder"s,
                            "s3://B"s, "ftp://bucket"s, "file:///a\0b"s})
        EXPECT_EQ(code_of(open_store({.url = bad})), ExitCode::config) << bad;
}

TEST(PosixStore, ARemovedRootIsNotAnEmptyStore)
{
    test::TemporaryFolder const folder;
    fs::create_directory(folder / "root");
    auto const store = open_at(folder / "root");
    fs::remove(folder / "root");
    EXPECT_EQ(code_of(store->get(record, {10})), ExitCode::unavailable);
    EXPECT_EQ(code_of(store->stat(record)), ExitCode::unavailable);
    auto const created = store->create(record, bytes_of("x"));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ExitCode::unavailable);
    EXPECT_THAT(created.error().message(), HasSubstr("still mounted"));
}

TEST(PosixStore, NeverFollowsASymbolicLink)
{
    for (auto const lookup : {Lookup::kernel, Lookup::stepwise}) {
        test::TemporaryFolder const folder;
        fs::create_directories(folder / "outside/commits");
        std::ofstream(folder / "outside/commits/00000001.json") << "secret";
        fs::create_directories(folder / "root/runs");
        auto const store = open_at(folder / "root", lookup);
        EXPECT_EQ(store->lookup(), lookup);
        fs::create_directory_symlink(folder / "outside", folder / "root/runs/r");
        EXPECT_EQ(code_of(store->get(record, {100})), ExitCode::permission);
        EXPECT_EQ(code_of(store->stat(record)), ExitCode::permission);
        EXPECT_EQ(code_of(store->create(record, bytes_of("x"))), ExitCode::permission);
        EXPECT_EQ(code_of(store->put(record, bytes_of("x"))), ExitCode::permission);
        EXPECT_EQ(code_of(store->remove(record)), ExitCode::permission);

        fs::remove(folder / "root/runs/r");
        fs::create_directories(folder / "root/runs/r/commits");
        fs::create_symlink(folder / "outside/commits/00000001.json",
                           folder / "root/runs/r/commits/00000001.json");
        EXPECT_NE(code_of(store->get(record, {100})), ExitCode::ok);
        EXPECT_NE(code_of(store->stat(record)), ExitCode::ok);
        EXPECT_EQ(*store->create(record, bytes_of("x")), CreateOutcome::exists);
        EXPECT_EQ(*read_file(folder / "outside/commits/00000001.json"), "secret");
    }
}

TEST(PosixStore, AnythingButARegularFileIsAnErrorAndNeverBlocks)
{
    test::TemporaryFolder const folder;
    auto const store = open_at(folder.path());
    fs::create_directories(folder / "runs/r/commits/00000001.json");
    EXPECT_EQ(code_of(store->get(record, {100})), ExitCode::data);
    EXPECT_EQ(code_of(store->stat(record)), ExitCode::data);
    fs::remove(folder / "runs/r/commits/00000001.json");
    ASSERT_EQ(mkfifo((folder / "runs/r/commits/00000001.json").c_str(), 0600), 0);
    EXPECT_EQ(code_of(store->get(record, {100})), ExitCode::data);
}

TEST(PosixStore, FilesAndFoldersGetTheRootsPermissions)
{
    test::TemporaryFolder const folder;
    fs::create_directory(folder / "root");
    ASSERT_EQ(chmod((folder / "root").c_str(), 02770), 0);
    mode_t const before = umask(077);
    auto const store = open_at(folder / "root");
    ASSERT_EQ(*store->create(record, bytes_of("x")), CreateOutcome::created);
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat((folder / "root/runs/r/commits").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 02770U);
    ASSERT_EQ(stat((folder / "root/runs/r/commits/00000001.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0660U);
}

TEST(PosixStore, AWriterKilledWhileItMakesAFolderLocksNoOtherOut)
{
    test::TemporaryFolder const folder;
    ASSERT_EQ(chmod(folder.path().c_str(), 02770), 0);
    for (int seed = 1; seed <= 40; ++seed) {
        auto const round = std::to_string(seed);
        pid_t const child = start([&] {
            umask(077);
            auto const store = open_at(folder.path());
            for (int n = 1;; ++n)
                (void)store->put(*ObjectName::parse("runs/r/models/" + round + "/A.0123abcd.1-" +
                                                    std::to_string(n) + "/w.h5"),
                                 bytes_of("x"));
            return 0;
        });
        auto const started = [&] { return fs::exists(folder / ("runs/r/models/" + round)); };
        while (!started()) sched_yield();
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        for (auto const& entry : fs::recursive_directory_iterator(folder.path())) {
            if (!entry.is_directory() || entry.path().extension() == ".tmp") continue;
            struct stat mode {};
            ASSERT_EQ(stat(entry.path().c_str(), &mode), 0);
            ASSERT_EQ(mode.st_mode & 07777, 02770U) << entry.path() << " in round " << seed;
        }
    }
}

TEST(PosixStore, FoldersOfDeletedPayloadsAreRemovedWhileOthersWrite)
{
    test::TemporaryFolder const folder;
    auto const store = open_at(folder.path());
    auto const of = [](int writer, int n) {
        return *ObjectName::parse("runs/r/models/7/A.0123abcd.1-" +
                                  std::to_string(writer * 1000 + n) + "/w.h5");
    };
    std::vector<pid_t> writers;
    for (int w = 1; w <= 3; ++w)
        writers.push_back(start([&] {
            auto const mine = open_at(folder.path());
            for (int n = 0; n < 200; ++n)
                if (!mine->put(of(w, n), bytes_of("x")) || !mine->remove(of(w, n))) return 1;
            return 0;
        }));
    for (pid_t const writer : writers) EXPECT_EQ(exit_code_of(writer), 0);
    EXPECT_FALSE(fs::exists(folder / "runs/r/models/7"));
    EXPECT_TRUE(fs::exists(folder / "runs/r/models"));
    ASSERT_TRUE(*store->create(record, bytes_of("x")) == CreateOutcome::created);
    ASSERT_TRUE(store->remove(record));
    EXPECT_TRUE(fs::exists(folder / "runs/r/commits"));
}

// The code with which create and put fail, if they leave nothing behind; 0 if one succeeds.
int write_failure(fs::path const& root, std::size_t size)
{
    auto const store = open_at(root);
    Content const big(size, std::byte{7});
    auto const created = store->create(record, big);
    auto const stored = store->put(payload, big);
    if (created || stored) return 0;
    if (created.error().code != stored.error().code || created.error().remedy.empty()) return 1;
    if (store->get(record, {1 << 30}).value() || store->get(payload, {1 << 30}).value()) return 2;
    if (!temporaries_in(root).empty()) return 3;
    if (*store->create(record, bytes_of("small")) != CreateOutcome::created) return 4;
    return static_cast<int>(created.error().code);
}

TEST(PosixStore, AFileThatMayNotGrowLeavesNothingBehind)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(exit_code_of(start([&] {
                  rlimit const limit{100'000, 100'000};
                  std::signal(SIGXFSZ, SIG_IGN);
                  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 255;
                  return write_failure(folder.path(), 200'000);
              })),
              static_cast<int>(ExitCode::io));
}

// Mounts a file system of 64 KiB at `folder`, visible to this process only. False if the kernel
// does not permit it.
bool mount_small(fs::path const& folder)
{
    int const flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
    return unshare(flags) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST(PosixStore, AFullDiskLeavesNothingBehindAndWorksAgainWithSpace)
{
    test::TemporaryFolder const folder;
    int const code = exit_code_of(start(
        [&] { return mount_small(folder.path()) ? write_failure(folder.path(), 200'000) : 250; }));
    if (code == 250) {
        // Mounting is not permitted, so test only the write itself, on a device without space.
        Fd const full(open("/dev/full", O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(write_all(full.get(), "x"), ENOSPC);
        return;
    }
    EXPECT_EQ(code, static_cast<int>(ExitCode::io));
}

TEST(PosixStore, AReadOnlyStoreIsAPermissionError)
{
    test::TemporaryFolder const folder;
    int const code = exit_code_of(start([&] {
        bool const root = geteuid() == 0;
        if (chmod(folder.path().c_str(), 0555) != 0) return 255;
        if (root && setuid(65534) != 0) return 255;
        auto const store = open_at(folder.path());
        auto const created = store->create(record, bytes_of("x"));
        if (created) return 0;
        return created.error().remedy.empty() ? 1 : static_cast<int>(created.error().code);
    }));
    EXPECT_EQ(code, static_cast<int>(ExitCode::permission));
    chmod(folder.path().c_str(), 0755);
}

TEST(PosixStore, ATemporaryOfAKilledProcessIsHarmless)
{
    test::TemporaryFolder const folder;
    auto const store = open_at(folder.path());
    fs::create_directories(folder / "runs/r/commits");
    std::ofstream(folder / "runs/r/commits/.00000001.json.host.0123456789abcdef.1.0.tmp")
        << "half a rec";
    EXPECT_EQ(*store->get(record, {100}), std::nullopt);
    EXPECT_EQ(*store->create(record, bytes_of("whole")), CreateOutcome::created);
    EXPECT_EQ(text_of(*store->get(record, {100}).value()), "whole");
}

}  // namespace
}  // namespace curtail::store
