// SPDX-License-Identifier: Apache-2.0
#include "base/core/trust.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <map>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Users and groups that a test of root can give files to.
constexpr uid_t stranger = 65'534;
constexpr uid_t system_account = 2;
constexpr gid_t strange_group = 65'534;

class TrustedFile : public testing::Test {
  protected:
    TrustedFile()
    {
        EXPECT_TRUE(write_file(file_, "x"));
        EXPECT_EQ(chmod(file_.c_str(), 0644), 0);
    }
    // The error for the file; empty if only its owner can change it.
    std::string refusal(Trust const& trust = {})
    {
        auto const checked = check_access(file_, trust);
        if (checked) return "";
        EXPECT_EQ(checked.error().code, ExitCode::permission);
        return checked.error().message();
    }
    void give(uid_t user, gid_t group)
    {
        if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
        ASSERT_EQ(chown(file_.c_str(), user, group), 0);
    }
    // An access list: the owner, the user `stranger` and the owner's group may write; `mask`.
    void set_acl(char const* kind, std::filesystem::path const& path, std::uint16_t mask)
    {
        struct Entry {
            std::uint16_t tag, rights;
            std::uint32_t id;
        };
        struct {
            std::uint32_t version{2};
            std::array<Entry, 5> entries;
        } acl{2, {{{1, 7, ~0U}, {2, 7, stranger}, {4, 5, ~0U}, {16, mask, ~0U}, {32, 4, ~0U}}}};
        if (setxattr(path.c_str(), kind, &acl, sizeof acl, 0) != 0)
            GTEST_SKIP() << "this file system has no access lists: " << std::strerror(errno);
    }

    test::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "file";
};

TEST_F(TrustedFile, IsThatOfItsOwner) { EXPECT_EQ(refusal(), ""); }

TEST_F(TrustedFile, OfEverybodyIsRefusedWithTheCommandThatMendsIt)
{
    ASSERT_EQ(chmod(file_.c_str(), 0646), 0);
    EXPECT_THAT(refusal(), HasSubstr("everybody can change it; chmod go-w " + file_.string()));
}

TEST_F(TrustedFile, OfTheUsersOwnGroupIsAccepted)
{
    // The test's user may have no group of its own.
    auto const* const group = getgrgid(getegid());
    if (group == nullptr || std::string(group->gr_name) != "root") GTEST_SKIP();
    ASSERT_EQ(chmod(file_.c_str(), 0664), 0);
    EXPECT_EQ(refusal(), "");
}

TEST_F(TrustedFile, OfAnotherGroupIsRefusedUnlessTheGroupIsTrusted)
{
    give(geteuid(), strange_group);
    ASSERT_EQ(chmod(file_.c_str(), 0664), 0);
    EXPECT_THAT(refusal(), HasSubstr("can change it; chmod go-w"));
    EXPECT_EQ(refusal({.group = strange_group}), "");
    EXPECT_THAT(refusal({.group = strange_group + 1}), HasSubstr("can change it"));
}

TEST_F(TrustedFile, OfAnotherUserIsRefusedUnlessTheUserIsTrusted)
{
    give(stranger, 0);
    EXPECT_THAT(refusal(), HasSubstr("belongs to user"));
    EXPECT_THAT(refusal({.system_owners = true}), HasSubstr("trusted-owners"));
    EXPECT_EQ(refusal({.owners = {stranger}}), "");
}

TEST_F(TrustedFile, OfASystemAccountIsTrustedIfInstalled)
{
    give(system_account, 0);
    EXPECT_THAT(refusal(), HasSubstr("belongs to user"));
    EXPECT_EQ(refusal({.system_owners = true}), "");
}

TEST_F(TrustedFile, WithAnAccessListForAnotherUserIsRefused)
{
    set_acl("system.posix_acl_access", file_, 7);
    if (IsSkipped()) return;
    EXPECT_THAT(refusal(), HasSubstr("setfacl -b"));
    set_acl("system.posix_acl_access", file_, 5);
    EXPECT_EQ(refusal(), "") << "the mask takes the right to write away";
}

TEST_F(TrustedFile, FolderWhoseNewFilesOthersCanChangeIsRefused)
{
    set_acl("system.posix_acl_default", folder_.path(), 7);
    if (IsSkipped()) return;
    file_ = folder_.path();
    EXPECT_THAT(refusal(), HasSubstr("setfacl -k"));
}

TEST_F(TrustedFile, InAFolderOfEverybodyIsRefusedWithoutTheStickyBit)
{
    ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
    EXPECT_THAT(refusal(), HasSubstr("everybody can replace what is in it; chmod o-w " +
                                     folder_.path().string()));
    ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
    EXPECT_EQ(refusal(), "");
}

TEST_F(TrustedFile, InAFolderOfAGroupIsAWarning)
{
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(chown(folder_.path().c_str(), geteuid(), strange_group), 0);
    ASSERT_EQ(chmod(folder_.path().c_str(), 0775), 0);
    auto const checked = check_access(file_);
    ASSERT_TRUE(checked);
    EXPECT_THAT(*checked, HasSubstr("can replace what is in " + folder_.path().string()));
}

TEST_F(TrustedFile, FoldersOnBothSidesOfALinkCount)
{
    std::filesystem::create_directory(folder_ / "open");
    std::filesystem::create_symlink(file_, folder_ / "open/link");
    ASSERT_EQ(chmod((folder_ / "open").c_str(), 0777), 0);
    EXPECT_THAT(check_access(folder_ / "open/link").error().message(), HasSubstr("/open"));
    std::filesystem::create_symlink(folder_ / "open/inner", folder_ / "link");
    ASSERT_TRUE(write_file(folder_ / "open/inner", "x"));
    EXPECT_THAT(check_access(folder_ / "link").error().message(), HasSubstr("/open"));
}

TEST_F(TrustedFile, FoldersOnTheWayOfAChainOfLinksCount)
{
    std::filesystem::create_directory(folder_ / "open");
    std::filesystem::create_symlink(file_, folder_ / "open/second");
    std::filesystem::create_symlink("open/../open/second", folder_ / "first");
    EXPECT_EQ(check_access(folder_ / "first").value(), "");
    ASSERT_EQ(chmod((folder_ / "open").c_str(), 0777), 0);
    EXPECT_THAT(check_access(folder_ / "first").error().message(), HasSubstr("/open"));
    std::filesystem::create_symlink("loop", folder_ / "loop");
    EXPECT_FALSE(check_access(folder_ / "loop")) << "it must end";
}

TEST_F(TrustedFile, ThroughALinkOfAnotherUserIsRefused)
{
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    std::filesystem::create_directory(folder_ / "real");
    std::filesystem::create_directory_symlink("real", folder_ / "link");
    ASSERT_EQ(lchown((folder_ / "link").c_str(), stranger, stranger), 0);
    EXPECT_THAT(check_access(folder_ / "link/file").error().message(),
                HasSubstr("who could lead it elsewhere"));
    EXPECT_EQ(check_access(folder_ / "link/file", {.owners = {stranger}}).value(), "");
}

TEST_F(TrustedFile, OfTheGroupMustBelongToAMember)
{
    auto const* const account = getpwuid(stranger);
    if (account == nullptr) GTEST_SKIP() << "no such account";
    give(stranger, account->pw_gid);
    EXPECT_EQ(refusal({.group = account->pw_gid}), "");
    // Below a set-gid folder, whoever creates a file gives it to the folder's group.
    constexpr gid_t another_group = 65'432;
    give(stranger, another_group);
    EXPECT_THAT(refusal({.group = another_group}), HasSubstr("belongs to user"));
}

TEST_F(TrustedFile, ThroughALinkOfAMemberIsRefused)
{
    auto const* const account = getpwuid(stranger);
    if (geteuid() != 0 || account == nullptr) GTEST_SKIP() << "only root can give files away";
    std::filesystem::create_directory(folder_ / "real");
    std::filesystem::create_directory_symlink("real", folder_ / "link");
    ASSERT_EQ(lchown((folder_ / "link").c_str(), stranger, account->pw_gid), 0);
    EXPECT_THAT(check_access(folder_ / "link/file", {.group = account->pw_gid}).error().message(),
                HasSubstr("who could lead it elsewhere"));
}

TEST_F(TrustedFile, InAStickyFolderOfAnotherUserIsAWarning)
{
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
    ASSERT_EQ(chown(folder_.path().c_str(), stranger, stranger), 0);
    EXPECT_THAT(check_access(file_).value(), HasSubstr("can replace what is in"));
}

TEST_F(TrustedFile, OfAnOpenTreeNamesOneCommandForTheTree)
{
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    auto const tree = folder_ / "tree";
    file_ = tree / "a/file";
    std::filesystem::create_directories(file_.parent_path());
    ASSERT_TRUE(write_file(file_, ""));
    for (auto const& path : {tree, tree / "a", file_}) {
        ASSERT_EQ(chown(path.c_str(), geteuid(), strange_group), 0);
        ASSERT_EQ(chmod(path.c_str(), 0775), 0);
    }
    EXPECT_THAT(refusal(), EndsWith("; chmod -R go-w " + tree.string()));
    file_ = tree / "a";
    EXPECT_THAT(refusal(), EndsWith("; chmod -R go-w " + tree.string()));
}

TEST(Accounts, OfAPrimaryGroupAreItsMembers)
{
    // An account that the machine has in any case, and one whose primary group is another's, too.
    EXPECT_FALSE(is_primary_group_of_others(1, 1));
    std::map<gid_t, uid_t> users;
    std::ifstream lines("/etc/passwd");
    for (std::string line; std::getline(lines, line);) {
        auto const fields = split(line, ':');
        auto const user = parse_number<uid_t>(fields.at(2)).value_or(0);
        auto const group = parse_number<gid_t>(fields.at(3)).value_or(0);
        auto const [other, is_new] = users.try_emplace(group, user);
        if (is_new || other->second == user) continue;
        EXPECT_TRUE(is_primary_group_of_others(group, user)) << line;
        EXPECT_TRUE(is_primary_group_of_others(group, other->second)) << line;
        return;
    }
    GTEST_SKIP() << "no two accounts have one primary group";
}

TEST_F(TrustedFile, MayBeMissing) { EXPECT_EQ(check_access(folder_ / "none").value(), ""); }

TEST_F(TrustedFile, WithNamesOfAccountsMustBeTrustedItself)
{
    ASSERT_TRUE(write_file(file_, "# operators\nroot\nno-such-account\n"));
    EXPECT_EQ(read_accounts(file_), std::vector<uid_t>{0});
    ASSERT_EQ(chmod(file_.c_str(), 0666), 0);
    EXPECT_TRUE(read_accounts(file_).empty());
    EXPECT_TRUE(read_accounts(folder_ / "none").empty());
}

}  // namespace
}  // namespace curtail
