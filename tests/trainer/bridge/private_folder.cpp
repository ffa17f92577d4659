// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/private_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/process/identity.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::bridge {
namespace {

namespace fs = std::filesystem;

class PrivateFolders : public testing::Test {
  public:
    PrivateFolders()
    {
        if (char const* before = std::getenv("TMPDIR")) before_ = before;
        set(parent_.path());
    }
    ~PrivateFolders() override
    {
        if (before_) set(*before_);
        else ::unsetenv("TMPDIR");
    }
    PrivateFolders(PrivateFolders const&) = delete;
    PrivateFolders& operator=(PrivateFolders const&) = delete;

  protected:
    static void set(fs::path const& folder) { ::setenv("TMPDIR", folder.c_str(), 1); }

    test::TemporaryFolder const parent_{"/tmp"};
    std::optional<std::string> before_;
};

TEST_F(PrivateFolders, AreForThisUserAloneAndEndWithTheObject)
{
    fs::path path;
    {
        auto const folder = PrivateFolder::create();
        ASSERT_TRUE(folder) << folder.error().message();
        path = folder->path();
        EXPECT_EQ(path.parent_path(), parent_.path());
        struct stat found {};
        ASSERT_EQ(::stat(path.c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 0777, 0700U);
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(PrivateFolders, ThoseThatKilledProcessesLeftAreRemovedAndNoOthers)
{
    auto const living = PrivateFolder::create();
    ASSERT_TRUE(living);
    auto const left = parent_ / "curtail-bridge-left00";
    auto const without_lock = parent_ / "curtail-bridge-new000";
    auto const elsewhere = parent_ / "curtail-bridge-node17";
    auto const other = parent_ / "curtail-other";
    auto const target = parent_ / "target";
    for (auto const& path : {left, without_lock, elsewhere, other, target})
        fs::create_directory(path);
    for (auto const& path : {left, elsewhere, other, target}) {
        ASSERT_TRUE(write_file(path / "lock", ""));
        auto const host = path == elsewhere ? "another-machine" : process::host_name();
        ASSERT_TRUE(write_file(path / "host", host));
    }
    fs::create_directory_symlink(target, parent_ / "curtail-bridge-link00");
    auto const folder = PrivateFolder::create();
    ASSERT_TRUE(folder);
    EXPECT_FALSE(fs::exists(left));
    for (auto const& path : {living->path(), without_lock, elsewhere, other, target / "lock"})
        EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(PrivateFolders, AreInTmpIfTheFolderOfChoiceIsOfNoUse)
{
    auto const longer = parent_ / std::string(60, 'x');
    fs::create_directory(longer);
    for (auto const& chosen : {longer, parent_ / "missing", fs::path()}) {
        set(chosen);
        auto const folder = PrivateFolder::create();
        ASSERT_TRUE(folder) << folder.error().message();
        EXPECT_EQ(folder->path().parent_path(), "/tmp") << chosen;
    }
}

}  // namespace
}  // namespace curtail::bridge
