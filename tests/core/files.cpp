// SPDX-License-Identifier: Apache-2.0
#include "core/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

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

TEST(Files, MissingFileIsNoInputAndTooLongFileIsADataError)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(read_file(folder / "none").error().code, ExitCode::no_input);
    EXPECT_EQ(*read_file_if_exists(folder / "none"), std::nullopt);
    ASSERT_TRUE(write_file(folder / "a", "12345"));
    EXPECT_EQ(*read_file(folder / "a", 5), "12345");
    EXPECT_EQ(read_file(folder / "a", 4).error().code, ExitCode::data);
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

}  // namespace
}  // namespace curtail
