// SPDX-License-Identifier: Apache-2.0
// What a site reads from its folder at start, and what it leaves there.
#include <gmock/gmock.h>

#include "support/faulty_store.hpp"
#include "trainer/engine/training_id.hpp"
#include "trainer/job/small_training.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

using Resume = test::SmallTraining;

TEST_F(Resume, AMemberResumesWithItsOptimizerAndMeasuredRate)
{
    configure(1, 0, 1000);
    ASSERT_TRUE(train_until(4)) << log_text_;
    EXPECT_GT(kept().rate, 0);
    auto const first = kept().optimizer_steps;
    EXPECT_EQ(first, static_cast<std::int64_t>(metrics().size()));
    ASSERT_TRUE(train_until(metrics().size() + 4)) << log_text_;
    EXPECT_THAT(log_text_, HasSubstr("resuming from snapshot "));
    EXPECT_EQ(kept().optimizer_steps, static_cast<std::int64_t>(metrics().size()));
}

TEST_F(Resume, ANewInstanceOfARunIgnoresTheOldOptimizer)
{
    configure(1, 0, 1000);
    ASSERT_TRUE(train_until(4)) << log_text_;
    fs::remove_all(folder_ / "store/runs");
    fs::remove_all(run_.site_folder(run_.sites.front().site) / "kept");
    auto const before = metrics().size();
    ASSERT_TRUE(train_until(before + 4)) << log_text_;
    EXPECT_THAT(log_text_, HasSubstr("of an earlier instance of this run; optimizer reset"));
    EXPECT_EQ(kept().optimizer_steps, static_cast<std::int64_t>(metrics().size() - before));
}

TEST_F(Resume, DamagedReadsOfTheFirstCommitDoNotChangeTheOwner)
{
    configure(1, 0, 1000);
    ASSERT_TRUE(train_until(4)) << log_text_;
    auto const objects = store::open_store(run_.store).value();
    auto const training_id = training_id_in_store(*objects, run_.run).value();
    ASSERT_TRUE(training_id);
    store::Faults faults;
    faults.corrupt_read = faults.short_read = 0.2;
    faults.stale_missing = 0.1;
    store::FaultyStore faulty(*objects, faults, 1);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(training_id_in_store(faulty, run_.run).value(), training_id);
    EXPECT_GT(faulty.injected(), 2);
}

TEST_F(Resume, WithoutAStoreItResumesOnlyTheSameTraining)
{
    configure(1, 2);
    ASSERT_TRUE(train(true)) << log_text_;
    auto const before = read_file(snapshot_file());
    configure(2, 4);
    auto const refused = train(true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::data);
    EXPECT_THAT(refused.error().message(), HasSubstr("different data, seed"));
    EXPECT_EQ(read_file(snapshot_file()), before);
    configure(1, 4);
    ASSERT_TRUE(train(true)) << log_text_;
    EXPECT_EQ(kept().steps, 4);
}

TEST_F(Resume, RunAndStorelessTrainingKeepEachOthersSnapshot)
{
    configure(1, 2, 1000);
    ASSERT_TRUE(train(true)) << log_text_;
    auto const in_run = train_until(metrics().size() + 4);
    ASSERT_FALSE(in_run);
    EXPECT_THAT(in_run.error().message(), HasSubstr("it belongs to a training without a store"));
    fs::remove_all(site_folder());
    ASSERT_TRUE(train_until(2)) << log_text_;
    auto const alone = train(true);
    ASSERT_FALSE(alone);
    EXPECT_THAT(alone.error().message(),
                HasSubstr("it does not belong to a training without a store"));
}

TEST_F(Resume, TwoTrainersOfOneSiteDoNotShareItsFolder)
{
    configure(1, 1);
    ASSERT_TRUE(make_folder(site_folder()));
    auto const other = FileLock::take(site_folder() / "lock");
    auto const refused = train(true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::temporary);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("cannot lock " + (site_folder() / "lock").string()));
    EXPECT_TRUE(metrics().empty());
}

TEST_F(Resume, HalfWrittenFilesOfAKilledTrainerAreRemoved)
{
    configure(1, 1);
    ASSERT_TRUE(make_folder(site_folder()));
    for (auto const* name : {".snapshot-a.0of1.h5.4711.3.tmp", ".status.json.4711.9.tmp",
                             ".notes.tmp", "snapshot-a.tmp"})
        ASSERT_TRUE(write_file(site_folder() / name, "half"));
    ASSERT_TRUE(train(true)) << log_text_;
    std::vector<std::string> left;
    for (auto const& entry : fs::directory_iterator(site_folder()))
        left.push_back(entry.path().filename());
    EXPECT_THAT(left,
                testing::IsSupersetOf({".notes.tmp", "snapshot-a.tmp", "snapshot-a.0of1.h5"}));
    EXPECT_THAT(left, Not(testing::Contains(HasSubstr("4711"))));
}

}  // namespace
}  // namespace curtail::trainer
