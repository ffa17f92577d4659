// SPDX-License-Identifier: Apache-2.0
// Snapshots with and without weights, in the site's folder.
#include "trainer/job/rank_snapshots.hpp"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "storage/tensors/reader.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/job/small_training.hpp"

namespace curtail::trainer {
namespace {

constexpr snapshot::Place first{1, 0, 1};

class SnapshotsTest : public test::SmallTraining {
  protected:
    void SetUp() override
    {
        SmallTraining::SetUp();
        ASSERT_TRUE(make_folder(site_folder()));
        loader_.emplace(training_data());
        engine_.emplace(run_, *loader_, *ranks_, model::initial_parameters(run_.model, 1));
    }
    void fill(float weights, float optimizer)
    {
        for (auto const& part : engine_->masters()) part.tensor.fill_(weights);
        for (auto const& part : engine_->optimizer().parts()) part.tensor.fill_(optimizer);
    }
    [[nodiscard]] float weight()
    {
        return engine_->masters().at(0).tensor.view({-1})[0].item<float>();
    }
    [[nodiscard]] float state()
    {
        return engine_->optimizer().parts().at(0).tensor.view({-1})[0].item<float>();
    }
    void save(RankSnapshots& snapshots)
    {
        snapshots.begin({run_.run, "run x", Tokens{1}, 1, 1, 1}, first);
        auto const result = snapshots.result(Seconds{30});
        ASSERT_TRUE(result);
        EXPECT_TRUE(*result);
    }
    // Saves weights of 1 and a state of 2. Replaces them by 3 and 4 before it restores.
    void save_and_restore(RankSnapshots& saved, RankSnapshots& restored)
    {
        fill(1, 2);
        save(saved);
        fill(3, 4);
        EXPECT_TRUE(restored.restore(first.serial));
    }
    // Whether the file has tensors whose names begin with `prefix`.
    [[nodiscard]] bool file_has(std::string const& prefix)
    {
        auto const file = tensors::TensorReader::open(site_folder() / file_name(first)).value();
        return std::ranges::any_of(file.list(),
                                   [&](auto const& info) { return info.name.starts_with(prefix); });
    }

    std::unique_ptr<comm::Collectives> ranks_{comm::single_process()};
    std::optional<data::Loader> loader_;
    std::optional<Engine> engine_;
};

TEST_F(SnapshotsTest, OfARunLeaveTheWeightsToItsStore)
{
    RankSnapshots snapshots(*engine_, {site_folder(), false});
    save_and_restore(snapshots, snapshots);
    EXPECT_TRUE(file_has("optimizer/"));
    EXPECT_FALSE(file_has("weights/"));
    EXPECT_EQ(state(), 2);
    EXPECT_EQ(weight(), 3);
}

TEST_F(SnapshotsTest, WithoutAStoreHaveTheWeights)
{
    RankSnapshots snapshots(*engine_, {site_folder(), true});
    save_and_restore(snapshots, snapshots);
    EXPECT_EQ(state(), 2);
    EXPECT_EQ(weight(), 1);
}

// A tensor begins in a block of 64 MiB and ends in the next one.
TEST_F(SnapshotsTest, OfAStateInSeveralBlocksHaveEachValueInItsPlace)
{
    run_.model.vocabulary = 70'000;
    engine_.emplace(run_, *loader_, *ranks_, model::initial_parameters(run_.model, 1));
    RankSnapshots snapshots(*engine_, {site_folder(), false});
    auto const parts = engine_->optimizer().parts();
    for (auto const& part : parts)
        part.tensor.copy_(at::arange(part.tensor.numel(), at::kFloat).view(part.tensor.sizes()));
    save(snapshots);
    for (auto const& part : parts) part.tensor.zero_();
    EXPECT_TRUE(snapshots.restore(first.serial));
    for (auto const& part : parts)
        EXPECT_TRUE(part.tensor.view({-1}).equal(at::arange(part.tensor.numel(), at::kFloat)))
            << part.name;
}

// Earlier versions saved the weights of a run, too.
TEST_F(SnapshotsTest, WithWeightsCanBeReadWithoutThem)
{
    RankSnapshots earlier(*engine_, {site_folder(), true});
    RankSnapshots snapshots(*engine_, {site_folder(), false});
    save_and_restore(earlier, snapshots);
    EXPECT_EQ(state(), 2);
    EXPECT_EQ(weight(), 3);
    save(snapshots);
    EXPECT_FALSE(file_has("weights/"));
}

}  // namespace
}  // namespace curtail::trainer
