// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/job_log.hpp"

#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::launch {
namespace {

TEST(JobLog, TheLastErrorOfAProgramIsTheCause)
{
    EXPECT_EQ(last_error_in("site_train.sh: site A, 2 ranks\n"
                            "2026-01-11T17:00:00Z curtail-train error: cannot read shard: digest\n"
                            "2026-01-11T17:00:01Z curtail-train joined\n"),
              "cannot read shard: digest");
}

TEST(JobLog, AnErrorOfTheJobScriptIsACause)
{
    EXPECT_EQ(last_error_in("loading modules\nsite_train.sh: mpirun is not on the PATH\n\n"),
              "site_train.sh: mpirun is not on the PATH");
}

TEST(JobLog, AnErrorOfSlurmIsACause)
{
    EXPECT_EQ(last_error_in("curtail-train: stopping\n"
                            "slurmstepd: error: *** JOB 7 ON n CANCELLED DUE TO TIME LIMIT ***\n"),
              "*** JOB 7 ON n CANCELLED DUE TO TIME LIMIT ***");
}

TEST(JobLog, WithoutAnErrorTheLastLineIsTheCause)
{
    EXPECT_EQ(last_error_in("loading\nSegmentation fault\n\n"), "Segmentation fault");
    EXPECT_EQ(last_error_in(""), "");
}

TEST(JobLog, OnlyTheEndOfALongLogIsRead)
{
    test::TemporaryFolder const folder;
    auto const path = folder / "job-7.log";
    ASSERT_TRUE(write_file(path, "error: first\n" + std::string(200'000, '.') + "\nerror: last\n"));
    EXPECT_EQ(cause_in_log(path), "last (log: " + path.string() + ")");
}

TEST(JobLog, AMissingLogGivesOnlyItsPath)
{
    EXPECT_EQ(cause_in_log("/nowhere/job-7.log"), "log: /nowhere/job-7.log");
}

}  // namespace
}  // namespace curtail::launch
