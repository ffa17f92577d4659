// SPDX-License-Identifier: Apache-2.0
// Verification of a run whose terms have changed.
#include <gtest/gtest.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "protocol/records/reading.hpp"
#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

using test::SmallRun;

TEST(AmendedRun, IsJudgedByTheTermsInForceAtTheParentOfEachCommit)
{
    store::MemoryStore store;
    SmallRun run(store, {"small"}, 60, SmallRun::Models::merged);
    run.make_amended();
    auto const& tip = run.tip();
    ASSERT_TRUE(tip.outer_step);
    ASSERT_EQ(
        run.chain().at(static_cast<std::size_t>(tip.number.value) - 3).decided.back().staleness, 3);
    auto const elements = [](protocol::RunSpec const&) -> std::optional<std::int64_t> {
        return std::int64_t{SmallRun::elements};
    };
    auto const summary = verify_run({store, run.spec().run}, {}, elements);
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->refused, 0);
    for (auto const& model : summary->models)
        EXPECT_EQ(model.outcome, RecomputedModel::Outcome::recomputed) << model.number.value;
}

// A run whose terms say what it keeps.
struct KeepingRun : testing::Test {
    store::MemoryStore store;
    SmallRun run{store, {"small"}, 200};

    void amend(std::int64_t keep_models, std::int64_t milestone_every)
    {
        auto terms = run.tip().terms;
        terms.params.keep_models = keep_models;
        terms.params.milestone_every = milestone_every;
        run.amend(terms);
    }
    // Removes the payloads of the rounds before `oldest`, as sites do. Keeps weights of milestones.
    void collect(std::int64_t oldest, std::int64_t milestone_every)
    {
        for (auto const& name : run.kept()) {
            if (!name.ends_with(".h5")) continue;
            bool const weights = name.starts_with("models/") && !name.ends_with("m0.h5");
            auto const round =
                std::stoll(name.substr(name.find('/') + 1)) + (name.starts_with("deltas/") ? 1 : 0);
            bool const stays = weights && protocol::is_milestone(milestone_every, {round});
            bool const momentum = run.tip().outer && name == run.tip().outer->momentum.name;
            if (round >= oldest || stays || momentum) continue;
            ASSERT_TRUE(store.remove(*object_name(run.spec().run, name)));
        }
    }
    std::string finding()
    {
        auto const summary = verify_run({store, run.spec().run});
        return summary ? "" : summary.error().message();
    }
    // Whether verification demands the weights of the round.
    bool demands(std::int64_t round)
    {
        for (auto const& c : run.chain()) {
            if (c.round.value != round || c.kind == protocol::Commit::Kind::roster) continue;
            auto const name = *object_name(run.spec().run, c.model.weights.name);
            auto const bytes = store.get(name, {1 << 20});
            if (!bytes || !*bytes) return false;
            std::string const content(store::text_of(**bytes));
            EXPECT_TRUE(store.remove(name));
            bool const demanded = finding().find("but it is missing") != std::string::npos;
            EXPECT_TRUE(store.put(name, store::bytes_of(content)));
            return demanded;
        }
        return false;
    }
};

TEST_F(KeepingRun, MayDeleteWhatAnAmendmentNoLongerKeeps)
{
    run.make_both(4);  // rounds 1 to 5; keeps 2 of them
    amend(1, 0);
    run.merge_both(1);
    collect(6, 0);
    EXPECT_EQ(finding(), "");
    EXPECT_TRUE(demands(6));
}

TEST_F(KeepingRun, MustHaveWhatAnAmendmentKeepsFromNowOn)
{
    run.make_both(4);
    collect(4, 0);  // before the amendment, so nothing brings it back
    amend(4, 0);
    run.merge_both(1);
    EXPECT_EQ(finding(), "");
    EXPECT_FALSE(demands(3));
    for (std::int64_t const round : {4, 5, 6}) EXPECT_TRUE(demands(round)) << round;
    run.merge_both(1);
    EXPECT_TRUE(demands(4)) << "run.json would keep two rounds";
}

TEST_F(KeepingRun, LosesMilestonesThatAnAmendmentNoLongerNames)
{
    run.make_both(1);
    amend(1, 2);
    run.merge_both(4);  // rounds 3 to 6
    collect(6, 2);
    EXPECT_EQ(finding(), "");
    EXPECT_TRUE(demands(2) || demands(4)) << "a milestone";
    amend(1, 0);
    EXPECT_FALSE(demands(4)) << "the next collection may delete it";
    run.merge_both(1);
    collect(7, 0);
    EXPECT_EQ(finding(), "");
    amend(1, 2);
    EXPECT_EQ(finding(), "") << "a deleted model does not come back";
}

TEST_F(KeepingRun, IsSummarizedWithTheTermsInForce)
{
    run.make_both(2);
    auto terms = run.tip().terms;
    terms.budget = 100 * run.spec().params.block_tokens;
    run.amend(terms);
    auto const summary = verify_run({store, run.spec().run});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->run.stream_blocks(), 100);
}

}  // namespace
}  // namespace curtail::chain
