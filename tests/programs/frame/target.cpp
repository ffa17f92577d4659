// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/target.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::programs {
namespace {

TEST(Target, OnlyAnEarlierOutputOfItsKindIsReplaced)
{
    test::TemporaryFolder const folder;
    EXPECT_TRUE(check_target(folder / "new", "a report", "the mark"));
    ASSERT_TRUE(write_file(folder / "report", "a line with the mark"));
    EXPECT_TRUE(check_target(folder / "report", "a report", "the mark"));
    ASSERT_TRUE(write_file(folder / "empty", ""));
    EXPECT_TRUE(check_target(folder / "empty", "a report", "the mark")) << "nothing is lost";
    ASSERT_TRUE(write_file(folder / "thesis", "years of work"));
    EXPECT_EQ(check_target(folder / "thesis", "a report", "the mark").error().code,
              ExitCode::usage);
}

TEST(Target, APipeIsRefusedWithoutWaitingForItsWriter)
{
    test::TemporaryFolder const folder;
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(check_target(folder / "pipe", "a report", "the mark").error().code, ExitCode::usage);
}

}  // namespace
}  // namespace curtail::programs
