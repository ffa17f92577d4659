// SPDX-License-Identifier: Apache-2.0
// The work of a site that is slower than the others gets into the model, and nobody removes it.
#include <gtest/gtest.h>

#include "protocol/records/names.hpp"
#include "simulator/plan.hpp"
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

// All sites train until the run is complete; B is slow. Returns the tokens of each site in the
// model.
std::map<SiteId, Tokens> tokens_beside(Delays const& slow, RunSpec const& run)
{
    Chaos chaos;
    chaos.gentle = true;
    Simulator s(run, 1, chaos);
    for (std::size_t i = 0; i < run.sites.size(); ++i) s.set_slowness(i, 1);
    s.set_slowness(1, slow.slowness);
    s.set_first_read(1, slow.first_read);
    for (std::size_t i = 0; i < run.sites.size(); ++i) s.start(i);
    EXPECT_TRUE(s.run_until(Seconds{1'000}, [&] { return s.complete(); }));
    EXPECT_FALSE(s.notes().contains("removed"));
    EXPECT_FALSE(s.notes().contains("refused"));
    return included(s);
}

TEST(SlowMembers, GetTheirWorkIntoTheModel)
{
    for (std::int64_t const local_steps : {0, 5, 20})
        for (double const factor : {1.05, 1.3, 2.0, 4.0, 10.0}) {
            SCOPED_TRACE(::testing::Message() << factor << " times slower, " << local_steps);
            auto run = small_run(600, {{"A"}, {"B"}});
            run.params.local_steps = local_steps;
            run.params.gather_time = Millis{500};
            run.params.grant_quantum = 4;
            auto tokens = tokens_beside({factor, {}}, run);
            auto const share =
                static_cast<double>(tokens[{"B"}].value) / static_cast<double>(tokens[{"A"}].value);
            EXPECT_GT(share, 0.5 / factor);
        }
}

// One step of B takes up to eight rounds.
TEST(SlowMembers, GetTheirWorkIntoTheModelIfAStepTakesRounds)
{
    for (std::int64_t const local_steps : {0, 5})
        for (double const factor : {20.0, 60.0})
            for (int const max_staleness : {1, 2}) {
                SCOPED_TRACE(::testing::Message() << factor << " times slower, " << local_steps
                                                  << ", staleness " << max_staleness);
                auto run = small_run(2000, {{"A"}, {"B"}, {"C"}});
                run.params.local_steps = local_steps;
                run.params.max_staleness = max_staleness;
                run.params.gather_time = Millis{500};
                run.params.grant_quantum = 4;
                run.params.drop_after = Seconds{200};
                run.params.keep_models = 60;
                EXPECT_GT(tokens_beside({factor, {}}, run)[{"B"}], Tokens{40});
            }
}

TEST(SlowReaders, GetTheirWorkIntoTheModel)
{
    for (std::int64_t const local_steps : {0, 5})
        for (int const rounds : {2, 3, 6, 10}) {
            SCOPED_TRACE(::testing::Message() << rounds << " rounds, " << local_steps);
            auto run = small_run(300, {{"A"}, {"B"}});
            run.params.local_steps = local_steps;
            run.params.drop_after = Seconds{60};
            run.params.keep_models = 60;
            EXPECT_GT(tokens_beside({0.5, rounds * Seconds{3}}, run)[{"B"}], Tokens{});
        }
}

}  // namespace
}  // namespace curtail::protocol::simulator
