// SPDX-License-Identifier: Apache-2.0
// A site reads its own deltas back before it merges and after a merge that leaves them out. A
// merge leaves the damaged delta of a living member for the next merge.
#include <gtest/gtest.h>

#include "simulator/small_run.hpp"

#include "simulator/simulator.hpp"

namespace curtail::protocol::test {
namespace {

// Also the second of two deltas of one member, and if all others have none.
TEST(DamagedDeltas, AreMendedByTheirOwners)
{
    int repairs = 0;
    int included = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto run = simulator::small_run(120, {{"A"}, {"B"}, {"C"}});
        simulator::Chaos chaos;
        chaos.spoiled = 0.5;
        simulator::Simulator s(run, seed, chaos);
        for (std::size_t i = 0; i < 3; ++i) s.start(i);
        ASSERT_TRUE(s.run_until(Seconds{600}, [&] { return s.complete(); }));
        repairs += s.notes().at("repaired");
        for (auto const& commit : s.store().chain())
            for (auto const& d : commit.decided) {
                EXPECT_FALSE(d.refused) << "seed " << seed << ", " << d.member.value;
                included += d.refused ? 0 : 1;
            }
    }
    EXPECT_GE(repairs, 100);
    EXPECT_GE(included, 200);
}

}  // namespace
}  // namespace curtail::protocol::test
