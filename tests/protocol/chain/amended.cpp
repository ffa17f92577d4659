// SPDX-License-Identifier: Apache-2.0
// Verification of a run whose terms have changed.
#include <gtest/gtest.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
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

}  // namespace
}  // namespace curtail::chain
