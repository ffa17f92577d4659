// SPDX-License-Identifier: Apache-2.0
// Models that verification computes again.
#include "protocol/chain/recompute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

using Outcome = RecomputedModel::Outcome;
using test::SmallRun;
using testing::ElementsAre;
using testing::HasSubstr;

// The run of SmallRun::make(): a lone merge in commit 4, then merges in commits 5, 6, 7 and 8. The
// models of rounds 1 and 2 are deleted, and so is a delta that commit 5 includes.
class Recompute : public testing::Test {
  protected:
    Recompute() { run.make(); }
    static std::optional<std::int64_t> elements(protocol::RunSpec const&)
    {
        return std::int64_t{SmallRun::elements};
    }
    Result<ChainSummary> verify(store::ObjectStore& objects)
    {
        return verify_run({objects, run.spec().run}, {}, elements);
    }
    std::vector<Outcome> outcomes(store::ObjectStore& objects)
    {
        auto const summary = verify(objects);
        EXPECT_TRUE(summary) << summary.error().message();
        std::vector<Outcome> outcomes;
        if (summary)
            for (auto const& model : summary->models) outcomes.push_back(model.outcome);
        return outcomes;
    }
    [[nodiscard]] store::ObjectName object(std::string const& name) const
    {
        return *object_name(run.spec().run, name);
    }
    void remove(std::string const& name) { ASSERT_TRUE(store.remove(object(name))); }
    store::MemoryStore store;
    SmallRun run{store, {"small"}, 40, SmallRun::Models::merged};
};

TEST_F(Recompute, MergesWhoseInputsAreKeptHaveTheSameBits)
{
    EXPECT_THAT(outcomes(store),
                ElementsAre(Outcome::lone, Outcome::inputs_deleted, Outcome::recomputed,
                            Outcome::recomputed, Outcome::recomputed));
    auto const models = verify(store)->models;
    EXPECT_EQ(models.back().number, run.tip().number);
    EXPECT_EQ(models.back().round, run.tip().round);
}

TEST_F(Recompute, NothingWithoutTheSizeOfTheModel)
{
    EXPECT_TRUE(verify_run({store, run.spec().run})->models.empty());
}

TEST_F(Recompute, ADeletedInputIsNoFault)
{
    // The base of commit 6 is the model of round 3, which the run need not keep.
    ASSERT_EQ(run.chain().at(4).round, Round{3});
    remove(run.chain().at(4).model.weights.name);
    EXPECT_THAT(outcomes(store),
                ElementsAre(Outcome::lone, Outcome::inputs_deleted, Outcome::inputs_deleted,
                            Outcome::recomputed, Outcome::recomputed));
}

TEST_F(Recompute, ALostHeaderIsNoFault)
{
    auto const name = protocol::header_name(run.a(), {4});
    ASSERT_TRUE(store.put(object(name), store::bytes_of("{}")));
    EXPECT_EQ(outcomes(store).at(3), Outcome::header_lost);
    EXPECT_EQ(verify(store)->lost.size(), 1U);
}

TEST_F(Recompute, WorksWithoutAListing)
{
    store::FaultyStore unlisted(store, {.unlisted = 1}, 1);
    auto const found = outcomes(unlisted);
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found.at(1), Outcome::inputs_deleted);
}

TEST_F(Recompute, CountsProgressUpToTheTotal)
{
    std::int64_t last = 0;
    std::int64_t all = 0;
    auto const summary = verify_run(
        {store, run.spec().run},
        [&](std::string const& stage, char const*, std::int64_t done, std::int64_t total) {
            if (stage != "recomputing") return;
            last = done;
            all = total;
        },
        elements);
    ASSERT_TRUE(summary);
    EXPECT_EQ(last, all);
    EXPECT_GE(all, 3);
}

TEST(RecomputeOther, ModelsThatAreNoMergeAreAFault)
{
    // Values in Curtail's form, but not those of the merges.
    store::MemoryStore store;
    SmallRun run(store, {"small"}, 40, SmallRun::Models::unmerged);
    run.make();
    EXPECT_TRUE(verify_run({store, run.spec().run})) << "all digests are right";
    auto const summary = verify_run({store, run.spec().run}, {}, [](protocol::RunSpec const&) {
        return std::optional<std::int64_t>(SmallRun::elements);
    });
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ExitCode::protocol);
    EXPECT_THAT(summary.error().message(), HasSubstr("is not the merge that commit 6 records"));
}

TEST(RecomputeOther, PayloadsOfAnotherFormAreNoFault)
{
    store::MemoryStore store;
    SmallRun run(store);
    run.make();
    auto const summary = verify_run({store, run.spec().run}, {}, [](protocol::RunSpec const&) {
        return std::optional<std::int64_t>(SmallRun::elements);
    });
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->models.back().outcome, Outcome::other_form);
}

}  // namespace
}  // namespace curtail::chain
