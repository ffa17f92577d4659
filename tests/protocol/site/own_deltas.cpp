// SPDX-License-Identifier: Apache-2.0
// A site reads its own deltas back before it merges and after a merge that leaves them out. A
// merge leaves the damaged delta of a living member for the next merge.
#include <gtest/gtest.h>

#include "simulator/small_run.hpp"

#include "simulator/simulator.hpp"

namespace curtail::protocol::test {
namespace {

TEST(DamagedDeltas, AreMendedByTheirOwners)
{
    auto run = simulator::small_run(120, {{"A"}, {"B"}, {"C"}});
    simulator::Chaos chaos;
    chaos.spoiled = 0.5;
    simulator::Simulator s(run, 3, chaos);
    for (std::size_t i = 0; i < 3; ++i) s.start(i);
    ASSERT_TRUE(s.run_until(Seconds{600}, [&] { return s.complete(); }));
    EXPECT_GE(s.notes().at("repaired"), 6);
    int refused = 0;
    int included = 0;
    for (auto const& commit : s.store().chain())
        for (auto const& d : commit.decided) (d.refused ? refused : included) += 1;
    EXPECT_EQ(refused, 0);
    EXPECT_GE(included, 10);
}

}  // namespace
}  // namespace curtail::protocol::test
