// SPDX-License-Identifier: Apache-2.0
// An NFS client that has seen that a name does not exist believes it until a program opens the
// folder of that name for reading. To simulate that, this test replaces openat of the C library.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <set>

#include "store/posix_store.hpp"
#include "support/temporary_folder.hpp"

namespace {

// Paths that the client takes for missing.
std::set<std::filesystem::path> missing;

std::filesystem::path path_of(int fd)
{
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
}

int open_through_cache(int folder, char const* name, int flags, mode_t mode)
{
    if (missing.empty()) return static_cast<int>(syscall(SYS_openat, folder, name, flags, mode));
    auto const path = (path_of(folder) / name).lexically_normal();
    if (missing.contains(path)) {
        errno = ENOENT;
        return -1;
    }
    auto const fd = static_cast<int>(syscall(SYS_openat, folder, name, flags, mode));
    bool const asks_server = fd >= 0 && (flags & O_DIRECTORY) != 0 && (flags & O_PATH) == 0;
    if (asks_server)
        std::erase_if(missing, [&](auto const& one) { return one.parent_path() == path_of(fd); });
    return fd;
}

}  // namespace

extern "C" int openat(int folder, char const* name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open_through_cache(folder, name, flags, mode);
}

// What openat becomes with _FORTIFY_SOURCE.
extern "C" int __openat_2(int folder, char const* name, int flags)  // NOLINT
{
    return open_through_cache(folder, name, flags, 0);
}

namespace curtail::store {
namespace {

class StaleNames : public testing::Test {
  public:
    ~StaleNames() override { missing.clear(); }

  protected:
    // The kernel's own lookup of a whole path cannot be replaced.
    StaleNames() : store_(*PosixStore::open(folder_.path(), IfMissing::refuse, Lookup::stepwise))
    {
        EXPECT_TRUE(PosixStore::open(folder_.path(), IfMissing::refuse)
                        .value()
                        ->create(name_, bytes_of("x")));
    }

    test::TemporaryFolder folder_;
    ObjectName const name_ = *ObjectName::parse("runs/r/models/3/A.00000011.2-1/w0.h5");
    std::unique_ptr<PosixStore> store_;
};

TEST_F(StaleNames, AFileOfAnotherHostIsFoundAtOnce)
{
    missing = {folder_ / "runs/r/models/3/A.00000011.2-1/w0.h5"};
    EXPECT_TRUE(store_->get(name_, {100}).value().has_value());
    missing = {folder_ / "runs/r/models/3/A.00000011.2-1/w0.h5"};
    EXPECT_TRUE(store_->stat(name_).value().has_value());
}

TEST_F(StaleNames, AFolderOfAnotherHostIsFoundAtOnce)
{
    for (auto const* folder : {"runs", "runs/r", "runs/r/models", "runs/r/models/3"}) {
        missing = {folder_ / folder};
        EXPECT_TRUE(store_->get(name_, {100}).value().has_value()) << folder;
    }
}

TEST_F(StaleNames, AFolderThatPermitsPassageOnlyIsNoObstacle)
{
    if (geteuid() == 0) GTEST_SKIP() << "root may read every folder";
    std::filesystem::permissions(folder_ / "runs/r", std::filesystem::perms::owner_exec);
    auto const other = *ObjectName::parse("runs/r/models/3/A.00000011.2-1/w1.h5");
    EXPECT_FALSE(store_->get(other, {100}).value().has_value());
    std::filesystem::permissions(folder_ / "runs/r", std::filesystem::perms::owner_all);
}

TEST_F(StaleNames, AMissingObjectStaysMissing)
{
    EXPECT_FALSE(store_->get(*ObjectName::parse("runs/r/models/4/A.00000011.2-1/w0.h5"), {100})
                     ->has_value());
    std::filesystem::remove_all(folder_ / "runs/r/models/3");
    std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "runs/r/models/3");
    EXPECT_EQ(store_->get(name_, {100}).error().code, ExitCode::permission)
        << "no link is followed";
}

}  // namespace
}  // namespace curtail::store
