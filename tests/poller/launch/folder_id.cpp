// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/folder_id.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "poller/launch/job_spec.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

using testing::HasSubstr;

TEST(FolderId, StaysWhenTheFolderIsMoved)
{
    test::TemporaryFolder const folder;
    auto const id = run_folder_id(folder / "results/demo", true);
    ASSERT_TRUE(id) << id.error().message();
    EXPECT_EQ(*id, hash_path(folder / "results/demo"));
    std::filesystem::rename(folder / "results", folder / "moved");
    EXPECT_NE(hash_path(folder / "moved/demo"), *id);
    EXPECT_EQ(run_folder_id(folder / "moved/demo", true), *id);
    EXPECT_EQ(run_folder_id(folder / "moved/demo", false), *id);
}

TEST(FolderId, CopyOfAFolderIsRefused)
{
    test::TemporaryFolder const folder;
    auto const id = run_folder_id(folder / "demo", true).value();
    std::filesystem::copy(folder / "demo", folder / "copy",
                          std::filesystem::copy_options::recursive);
    auto const copied = run_folder_id(folder / "copy", true);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, ExitCode::config);
    EXPECT_THAT(copied.error().message(), HasSubstr("/copy is a copy of a run's folder"));
    EXPECT_EQ(run_folder_id(folder / "demo", true), id);
    // Moved across file systems: the user corrects the path.
    auto text = read_file(folder / "copy/mark.json").value();
    auto const at = text.find("/demo\"");
    text.replace(at, 6, "/copy\"");
    ASSERT_TRUE(write_file(folder / "copy/mark.json", text));
    EXPECT_EQ(run_folder_id(folder / "copy", true), id);
}

TEST(FolderId, SupportsPathsThatAreNotUtf8)
{
    test::TemporaryFolder const folder;
    auto const id = run_folder_id(folder / "caf\xe9", true);
    ASSERT_TRUE(id) << id.error().message();
    EXPECT_EQ(run_folder_id(folder / "caf\xe9", true), *id);
}

TEST(FolderId, ReadingCreatesNothing)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(run_folder_id(folder / "demo", false), hash_path(folder / "demo"));
    EXPECT_FALSE(std::filesystem::exists(folder / "demo"));
}

TEST(FolderId, DamagedFileIsAnError)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "demo"));
    ASSERT_TRUE(
        write_file(folder / "demo/mark.json", R"({"mark":"../../../","path":"/","inode":"1"})"));
    auto const id = run_folder_id(folder / "demo", true);
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, ExitCode::data);
    EXPECT_THAT(id.error().remedy, HasSubstr("restore it from a copy"));
}

}  // namespace
}  // namespace curtail::launch
