// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ostream>
#include <string>

#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "base/core/secret.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

template <class T>
concept Printable = requires(std::ostream& out, T const& value)
{
    out << value;
};

TEST(Secret, IsNeverPrinted)
{
    static_assert(Printable<std::string> && !Printable<Secret>);
    static_assert(!fmt::is_formattable<Secret>::value);
    EXPECT_THAT(testing::PrintToString(Secret("hunter2")), Not(HasSubstr("hunter2")));
}

TEST(Secret, MovesWithoutLeavingACopy)
{
    Secret a("hunter2");
    Secret const b(std::move(a));
    EXPECT_STREQ(b.reveal(), "hunter2");
    // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): a Secret is then empty.
    EXPECT_TRUE(a.empty());
    EXPECT_STREQ(a.reveal(), "");
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
}

TEST(GuardMemory, DisablesCoreFilesAndHidesMemory)
{
    auto const guard = [] {
        rlimit limit{};
        bool const good = hide_process_memory() && getrlimit(RLIMIT_CORE, &limit) == 0 &&
                          limit.rlim_max == 0 && prctl(PR_GET_DUMPABLE) == 0;
        std::_Exit(good ? 0 : 1);
    };
    EXPECT_EXIT(guard(), testing::ExitedWithCode(0), "");
}

TEST(PrivateFolder, IsCreatedForItsOwnerOnly)
{
    TemporaryFolder const folder;
    auto const state = folder / "a/b";
    ASSERT_TRUE(ensure_private_folder(state));
    struct stat status {};
    ASSERT_EQ(stat(state.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
    ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U);
    EXPECT_TRUE(ensure_private_folder(state));
}

TEST(PrivateFolder, ErrorForAnOpenFolderNamesTheCommandThatClosesIt)
{
    TemporaryFolder const folder;
    ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
    auto const checked = ensure_private_folder(folder.path());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ExitCode::permission);
    EXPECT_EQ(checked.error().remedy, "chmod 700 " + folder.path().string());
}

TEST(PrivateFolder, RejectsLinksAndFiles)
{
    TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "file", ""));
    std::filesystem::create_directory_symlink(folder.path(), folder / "link");
    EXPECT_FALSE(ensure_private_folder(folder / "file"));
    EXPECT_FALSE(ensure_private_folder(folder / "link"));
}

}  // namespace
}  // namespace curtail
