// SPDX-License-Identifier: Apache-2.0
#include "launch/mark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "launch/order.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

using testing::HasSubstr;

TEST(Mark, StaysWhenTheFolderIsMoved)
{
    test::TemporaryFolder const folder;
    auto const mark = run_mark(folder / "results/demo", true);
    ASSERT_TRUE(mark) << mark.error().message();
    EXPECT_EQ(*mark, folder_mark(folder / "results/demo"));
    std::filesystem::rename(folder / "results", folder / "moved");
    EXPECT_NE(folder_mark(folder / "moved/demo"), *mark);
    EXPECT_EQ(run_mark(folder / "moved/demo", true), *mark);
    EXPECT_EQ(run_mark(folder / "moved/demo", false), *mark);
}

TEST(Mark, CopyIsToldFromItsOriginal)
{
    test::TemporaryFolder const folder;
    auto const mark = run_mark(folder / "demo", true).value();
    std::filesystem::copy(folder / "demo", folder / "copy",
                          std::filesystem::copy_options::recursive);
    auto const copied = run_mark(folder / "copy", true);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, ExitCode::config);
    EXPECT_THAT(copied.error().message(), HasSubstr("/copy is a copy of a run's folder"));
    EXPECT_EQ(run_mark(folder / "demo", true), mark);
    // Moved across file systems: its path is put right by hand.
    auto text = read_file(folder / "copy/mark.json").value();
    auto const at = text.find("/demo\"");
    text.replace(at, 6, "/copy\"");
    ASSERT_TRUE(write_file(folder / "copy/mark.json", text));
    EXPECT_EQ(run_mark(folder / "copy", true), mark);
}

TEST(Mark, FolderWhosePathIsNotUtf8KeepsItToo)
{
    test::TemporaryFolder const folder;
    auto const mark = run_mark(folder / "caf\xe9", true);
    ASSERT_TRUE(mark) << mark.error().message();
    EXPECT_EQ(run_mark(folder / "caf\xe9", true), *mark);
}

TEST(Mark, LookingMakesNone)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(run_mark(folder / "demo", false), folder_mark(folder / "demo"));
    EXPECT_FALSE(std::filesystem::exists(folder / "demo"));
}

TEST(Mark, DamagedFileIsNotGuessedAt)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "demo"));
    ASSERT_TRUE(
        write_file(folder / "demo/mark.json", R"({"mark":"../../../","path":"/","inode":"1"})"));
    auto const mark = run_mark(folder / "demo", true);
    ASSERT_FALSE(mark);
    EXPECT_EQ(mark.error().code, ExitCode::data);
}

}  // namespace
}  // namespace curtail::launch
