// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/config/run.hpp"
#include "run/permission/issue.hpp"
#include "support/paths.hpp"

// The files in inputs/examples, which users copy for a run of their own.
namespace curtail::config {
namespace {

using testing::HasSubstr;
using testing::Not;

class Examples : public testing::Test {
  protected:
    void SetUp() override
    {
        auto read = read_run(test::source_folder() / "inputs/examples/run.json");
        ASSERT_TRUE(read) << read.error().message();
        run = *read;
        ASSERT_EQ(run.sites.size(), 2U);
    }
    config::Run run;
};

TEST_F(Examples, TrainTheReportsModelOnItsTokens)
{
    EXPECT_EQ(run.model.parameters(), 560'988'200);
    EXPECT_EQ(run.training.tokens_per_parameter, 21.9);
    EXPECT_FALSE(run.optimizer.schedule) << "it follows the budget";
}

TEST_F(Examples, HaveTheTimesOfARealRun)
{
    EXPECT_EQ(run.rounds.round_time, Seconds{600});
    EXPECT_GE(run.rounds.lease, Seconds{120});
    for (auto const& site : run.sites) {
        EXPECT_EQ(site.launch.grace, Seconds{120});
        EXPECT_EQ(site.poll_period, Seconds{60});
        // The figure in the comment of coast.json.
        EXPECT_EQ(permission::default_lifetime(site.poll_period, site.window.close_delay),
                  Seconds{720});
    }
}

TEST_F(Examples, SubmitToSlurmClustersOfTheUser)
{
    for (auto const& site : run.sites) {
        EXPECT_EQ(site.launch.kind, LaunchSettings::Kind::slurm);
        EXPECT_THAT(site.launch.slurm_conf.string(), Not(HasSubstr("build/clusters")));
        EXPECT_EQ(site.launch.script, test::source_folder() / "slurm/site_train.sh");
        EXPECT_FALSE(site.launch.sbatch_options.empty());
    }
}

TEST_F(Examples, StateWhoseClustersPowerTheyBill)
{
    for (auto const& site : run.sites) {
        EXPECT_FALSE(site.power_source.empty());
        EXPECT_GT(site.power->pue, 1);
        EXPECT_EQ(site.between_jobs, energy::BetweenJobs::released);
    }
}

TEST_F(Examples, GiveEachRankOfEverySiteWholeRows)
{
    auto const rows = run.training.batch_tokens.value / run.model.sequence;
    for (auto const& site : run.sites) EXPECT_EQ(rows % site.ranks, 0) << site.site.value;
}

}  // namespace
}  // namespace curtail::config
