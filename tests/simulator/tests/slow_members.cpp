// SPDX-License-Identifier: Apache-2.0
// The work of a site that is slower than the others gets into the model, and nobody removes it.
#include <gtest/gtest.h>

#include "protocol/records/names.hpp"
#include "simulator/simulator.hpp"
#include "simulator/small_run.hpp"

namespace curtail::protocol::simulator {
namespace {

// The tokens of each site in the model.
std::map<SiteId, Tokens> included(Simulator const& s)
{
    std::map<SiteId, Tokens> tokens;
    for (auto const& commit : s.store().chain())
        for (auto const& d : commit.decided)
            if (!d.refused) tokens[member_parts(d.member).process.site] += d.tokens;
    return tokens;
}

// A and B train until the run is complete. A step of B takes `factor` times as long.
void expect_work_of_slow_member(double factor, std::int64_t local_steps)
{
    auto run = small_run(600, {{"A"}, {"B"}});
    run.params.local_steps = local_steps;
    run.params.gather_time = Millis{500};
    run.params.grant_quantum = 4;
    Chaos chaos;
    chaos.gentle = true;
    Simulator s(run, 1, chaos);
    s.set_slowness(0, 1);
    s.set_slowness(1, factor);
    s.start(0);
    s.start(1);
    ASSERT_TRUE(s.run_until(Seconds{1'000}, [&] { return s.complete(); }));
    auto const what = ::testing::Message() << factor << " times slower, " << local_steps;
    EXPECT_FALSE(s.notes().contains("removed")) << what;
    EXPECT_FALSE(s.notes().contains("refused")) << what;
    auto tokens = included(s);
    auto const share =
        static_cast<double>(tokens[{"B"}].value) / static_cast<double>(tokens[{"A"}].value);
    EXPECT_GT(share, 0.5 / factor) << what;
}

TEST(SlowMembers, GetTheirWorkIntoTheModel)
{
    for (std::int64_t const local_steps : {0, 5, 20})
        for (double const factor : {1.05, 1.3, 2.0, 4.0, 10.0})
            expect_work_of_slow_member(factor, local_steps);
}

// A and B train until the run is complete. B reads its first model for `time`.
void expect_work_of_slow_reader(Millis time, std::int64_t local_steps)
{
    auto run = small_run(300, {{"A"}, {"B"}});
    run.params.local_steps = local_steps;
    run.params.drop_after = Seconds{60};
    run.params.keep_models = 60;
    Chaos chaos;
    chaos.gentle = true;
    Simulator s(run, 1, chaos);
    s.set_slowness(0, 1);
    s.set_slowness(1, 0.5);
    s.set_first_read(1, time);
    s.start(0);
    s.start(1);
    ASSERT_TRUE(s.run_until(Seconds{1'000}, [&] { return s.complete(); }));
    auto const what = ::testing::Message() << time.count() << " ms, " << local_steps;
    EXPECT_FALSE(s.notes().contains("removed")) << what;
    EXPECT_FALSE(s.notes().contains("refused")) << what;
    EXPECT_GT(included(s)[{"B"}], Tokens{}) << what;
}

TEST(SlowReaders, GetTheirWorkIntoTheModel)
{
    for (std::int64_t const local_steps : {0, 5})
        for (int const rounds : {2, 3, 6, 10})
            expect_work_of_slow_reader(rounds * Seconds{3}, local_steps);
}

}  // namespace
}  // namespace curtail::protocol::simulator
