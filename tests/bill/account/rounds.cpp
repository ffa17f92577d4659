// SPDX-License-Identifier: Apache-2.0
// Rounds and windows from step records: which steps count, and how the time to compute them grows.
#include <gmock/gmock.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "bill/account/parts.hpp"
#include "bill/account/small_run.hpp"

namespace curtail::account {
namespace {

using test::at;

// A run of two sites with `rounds` joint rounds, and `steps` steps of each site in each round. A
// round takes a minute. EAST logged its last step of the run first, as after a clock was set back.
RunFiles long_run(std::int64_t rounds, std::int64_t steps)
{
    auto files = test::small_run();
    auto const began = at(0);
    auto const second = FractionalSeconds(60.0 / static_cast<double>(steps));
    auto genesis = files.commits[0], merge = files.commits[1];
    files.commits = {genesis};
    files.trace.clear();
    for (auto& site : files.sites) site.metrics.clear();
    for (std::int64_t r = 0; r < rounds; ++r) {
        auto const start = began + std::chrono::minutes(r);
        for (auto& site : files.sites)
            for (std::int64_t i = 1; i <= steps; ++i) {
                auto const end = start + std::chrono::floor<Millis>(i * second);
                site.metrics.push_back({end, i, r, {1}, {}, 4.0, 1, second});
            }
        merge.number = r + 2;
        merge.round = r + 2;
        merge.time = start + std::chrono::minutes(1);
        for (auto& c : merge.contributions) {
            c.seq = r + 1;
            auto& site = files.sites[c.site.value == "EAST" ? 0 : 1];
            site.events.push_back({merge.time - Millis{500},
                                   "contributed",
                                   c.site.value,
                                   {{"member", c.member}, {"seq", c.seq}, {"tokens", 1}}});
        }
        files.commits.push_back(merge);
    }
    auto& east = files.sites[0].metrics;
    std::rotate(east.begin(), east.end() - 1, east.end());
    return files;
}

/// Processor time of this thread: unlike elapsed time, other processes hardly change it.
FractionalSeconds thread_time()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

double cpu_seconds_of_account(std::int64_t rounds, std::int64_t steps)
{
    auto const files = long_run(rounds, steps);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        auto const begin = thread_time();
        auto const timeline = timeline_of(files);
        auto const windows = windows_of(files, timeline);
        auto const work = work_of(files, timeline);
        best = std::min(best, (thread_time() - begin).count());
        if (work.rounds.size() != static_cast<std::size_t>(rounds)) return 0;
    }
    return best;
}

TEST(Rounds, SayWhatCameByMpiAndWhyNot)
{
    auto files = long_run(3, 4);
    auto const read = [&](std::size_t site, runlog::PayloadsRead const& what) {
        auto const name = files.run.sites[site].site.value;
        files.sites[site].events.push_back(runlog::to_event(what, at(0), name));
    };
    read(0, {2, {100}, {}, ""});
    read(1, {2, {50}, {7}, "it has left\n"});
    read(1, {3, {}, {9}, ""});
    auto const rounds = work_of(files, timeline_of(files)).rounds;
    ASSERT_EQ(rounds.size(), 3U);
    EXPECT_EQ(rounds[0].by_mpi, Bytes{150});
    EXPECT_EQ(rounds[0].from_store, Bytes{7});
    EXPECT_EQ(rounds[0].note, "WEST read 7 bytes from the store and not by MPI: it has left\\x0a");
    EXPECT_EQ(rounds[1].by_mpi, Bytes{0});
    EXPECT_EQ(rounds[1].from_store, Bytes{9});
    EXPECT_EQ(rounds[2].by_mpi, std::nullopt);
}

TEST(Rounds, CountEachStepInTheRoundInWhichItEnded)
{
    auto const files = long_run(4, 10);
    auto const rounds = work_of(files, timeline_of(files)).rounds;
    ASSERT_EQ(rounds.size(), 4U);
    for (auto const& round : rounds) {
        ASSERT_EQ(round.parts.size(), 2U);
        for (auto const& part : round.parts) {
            EXPECT_NEAR(part.train.value_or(0), 60, 1e-6) << round.number << " " << part.site;
            EXPECT_NEAR(part.before.value_or(9), 0, 1e-6) << round.number << " " << part.site;
            EXPECT_NEAR(part.after.value_or(9), 0, 1e-6) << round.number << " " << part.site;
        }
        EXPECT_NEAR(round.merge.value_or(0), 0.5, 1e-6) << round.number;
    }
}

// Work that grows with the square of the rounds takes sixteen times as long for four times as many.
TEST(Rounds, TakeAboutFourTimesAsLongForFourTimesAsManyStepsAndRounds)
{
    double const once = cpu_seconds_of_account(250, 50), longer = cpu_seconds_of_account(1000, 50);
    EXPECT_GT(once, 0);
    EXPECT_LT(longer, 9 * once) << once << " s, then " << longer << " s";
}

}  // namespace
}  // namespace curtail::account
