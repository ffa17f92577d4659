// SPDX-License-Identifier: Apache-2.0
// A non-finite value, wherever it comes from, costs some work and nothing else.
#include <gmock/gmock.h>

#include "support/memory_store.hpp"
#include "trainer/job/leader_training.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class SpoiledTraining : public test::LeaderTraining {
  protected:
    void begin() { LeaderTraining::begin({site_folder(), true}); }
    // As after a step with a bad gradient: the next step starts from good weights and spoils them.
    void spoil_optimizer()
    {
        for (auto const& part : engine_->optimizer().parts()) part.tensor.fill_(nan);
    }
    [[nodiscard]] std::vector<bool> finite_losses() const
    {
        std::vector<bool> finite;
        for (auto const& row : metrics())
            finite.push_back(row.find("loss")->as_number().has_value());
        return finite;
    }
};

TEST_F(SpoiledTraining, WithoutAStoreTrainingEndsAndKeepsTheSnapshot)
{
    configure(1, 2);
    begin();
    auto with = context("alone x");
    ASSERT_TRUE(train_alone(*site_ranks_, with, 40, {}));
    auto const before = read_file(snapshot_file());
    engine_->weights().values().back() = nan;
    configure(1, 6);
    auto const ended = train_alone(*site_ranks_, context("alone x"), 40, {});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ExitCode::data);
    EXPECT_THAT(ended.error().message(),
                HasSubstr("the loss or a gradient of step 1 is not finite"));
    EXPECT_EQ(read_file(snapshot_file()), before);
    EXPECT_THAT(finite_losses(), testing::ElementsAre(true, true, false));
}

TEST_F(SpoiledTraining, WeightsSpoiledByTheLastStepAreNotSaved)
{
    configure(1, 2);
    begin();
    ASSERT_TRUE(train_alone(*site_ranks_, context("alone x"), 40, {}));
    auto const before = read_file(snapshot_file());
    spoil_optimizer();
    configure(1, 1);
    auto next = context("alone x");
    next.snapshots = {1, 1};
    auto const ended = train_alone(*site_ranks_, next, 40, {});
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message(), HasSubstr("has values that are not finite"));
    EXPECT_EQ(read_file(snapshot_file()), before);
}

// The first step is good but gives weights that are not finite, so all further steps of the round
// are skipped.
TEST_F(SpoiledTraining, AMemberOfARunSkipsStepsAndContinuesWithANewOptimizer)
{
    begin();
    spoil_optimizer();
    store::MemoryStore objects;
    auto const spec = config::make_run_spec(run_, data::manifest_digest(run_.data.folder).value(),
                                            loader_->blocks_per_epoch(), {"w"});
    auto const complete =
        train_in_run(*site_ranks_, context({}), spec, {{&objects, [](auto*) {}}, {}, {}});
    ASSERT_FALSE(complete) << "a merge has refused the work of the first step";
    EXPECT_EQ(complete.error().code, ExitCode::unavailable);
    EXPECT_THAT(complete.error().message(), HasSubstr("this process has lost work"));
    auto const losses = finite_losses();
    EXPECT_TRUE(losses.front());
    EXPECT_TRUE(losses.back());
    std::int64_t skipped = 0;
    for (auto const& row : metrics()) {
        bool const is_finite = row.find("loss")->as_number().has_value();
        EXPECT_EQ(row.integer_at("tokens") == 0, !is_finite);
        skipped += is_finite ? 0 : 1;
    }
    EXPECT_GE(skipped, 3) << "three skipped steps make a cut due";
    EXPECT_LT(kept().optimizer_steps, kept().steps) << "the optimizer was reset";
}

}  // namespace
}  // namespace curtail::trainer
