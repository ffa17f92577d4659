// SPDX-License-Identifier: Apache-2.0
#include "base/core/new_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>

#include "base/core/private_file.hpp"
#include "base/core/trust.hpp"
#include "support/own_mounts.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;

// A folder whose new files are open to another user, whatever the umask.
class InheritedAccess : public testing::TestWithParam<mode_t> {
  protected:
    void SetUp() override
    {
        struct Entry {
            std::uint16_t tag, rights;
            std::uint32_t id;
        };
        struct {
            std::uint32_t version;
            std::array<Entry, 5> entries;
        } acl{2, {{{1, 7, ~0U}, {2, 7, 65'534}, {4, 7, ~0U}, {16, 7, ~0U}, {32, 7, ~0U}}}};
        constexpr auto const* kind = "system.posix_acl_default";
        if (setxattr(folder_.path().c_str(), kind, &acl, sizeof acl, 0) != 0)
            GTEST_SKIP() << "this file system has no access lists: " << std::strerror(errno);
        before_ = umask(GetParam());
    }
    void TearDown() override
    {
        if (!IsSkipped()) umask(before_);
    }
    void expect_mode(fs::path const& path, mode_t wanted)
    {
        struct stat status {};
        ASSERT_EQ(lstat(path.c_str(), &status), 0) << path;
        EXPECT_EQ(status.st_mode & 0777U, wanted & ~GetParam()) << path;
        for (auto const* kind : {"system.posix_acl_default", "system.posix_acl_access"})
            EXPECT_LT(getxattr(path.c_str(), kind, nullptr, 0), 0) << path << " has a " << kind;
    }

    test::TemporaryFolder folder_;
    mode_t before_{};
};

TEST_P(InheritedAccess, IsNotThatOfNewFilesAndFolders)
{
    ASSERT_TRUE(write_file(folder_ / "written", "x"));
    expect_mode(folder_ / "written", 0666);
    ASSERT_TRUE(create_file(folder_ / "created", "x"));
    expect_mode(folder_ / "created", 0666);
    ASSERT_TRUE(append_line(folder_ / "appended", "x", false));
    expect_mode(folder_ / "appended", 0666);
    ASSERT_TRUE(FileLock::take(folder_ / "lock"));
    expect_mode(folder_ / "lock", 0666);
    ASSERT_TRUE(make_folder(folder_ / "a/b/"));
    expect_mode(folder_ / "a", 0777);
    expect_mode(folder_ / "a/b", 0777);
    ASSERT_TRUE(ensure_private_folder(folder_ / "private"));
    expect_mode(folder_ / "private", 0700);
    EXPECT_EQ(check_access(folder_ / "private").value(), "");
}

INSTANTIATE_TEST_SUITE_P(Umasks, InheritedAccess, testing::Values(0, 022, 077));

TEST(NewFiles, KeepTheirGroupBelowAFolderOfAGroup)
{
    test::TemporaryFolder const folder;
    ASSERT_EQ(chmod(folder.path().c_str(), 02700), 0);
    ASSERT_TRUE(make_folder(folder / "a"));
    struct stat status {};
    ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
    EXPECT_TRUE((status.st_mode & S_ISGID) != 0);
}

TEST(NewFiles, ReplaceNoLinkAndWaitForNoPipe)
{
    test::TemporaryFolder const folder;
    fs::create_symlink(folder / "target", folder / "link");
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_FALSE(open_new(folder / "link", O_WRONLY, 0600));
    EXPECT_FALSE(open_or_create(folder / "link", O_WRONLY, 0600));
    EXPECT_FALSE(FileLock::take(folder / "link"));
    EXPECT_FALSE(append_line(folder / "pipe", "x", false));
    EXPECT_FALSE(FileLock::take(folder / "pipe"));
    EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST(NewFiles, ADiskWithoutNumbersForMoreFilesIsFull)
{
    if (!test::can_mount()) GTEST_SKIP() << "only root can mount a small disk";
    test::TemporaryFolder const folder;
    EXPECT_TRUE(test::in_own_mounts([&] {
        if (mount("none", folder.path().c_str(), "tmpfs", 0, "nr_inodes=4") != 0) return false;
        for (int i = 0; i < 4; ++i) (void)write_file(folder / std::to_string(i), "x");
        auto const is_full = [](auto const& result) {
            return !result && result.error().code == ExitCode::io &&
                   result.error().remedy.find("remove files") != std::string::npos;
        };
        return is_full(write_file(folder / "more", "x")) &&
               is_full(create_file(folder / "more", "x")) &&
               is_full(append_line(folder / "more", "x", false)) &&
               is_full(make_folder(folder / "f")) && is_full(FileLock::take(folder / "lock"));
    }));
}

}  // namespace
}  // namespace curtail
