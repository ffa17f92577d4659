// SPDX-License-Identifier: Apache-2.0
#include "simulator/campaign.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "simulator/plan.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::protocol::simulator {
namespace {

Outcome run(Campaign const& campaign)
{
    return run_campaign(campaign, [](std::int64_t) {}).value();
}

TEST(Campaign, FindsNoBrokenInvariantAndVisitsEveryState)
{
    auto const outcome = run({.first = 0, .last = 24, .steps = 1'000, .threads = 2});
    for (auto const& failure : outcome.failures)
        ADD_FAILURE() << "seed " << failure.seed << ": " << failure.text;
    EXPECT_GE(outcome.amount.steps, 25 * 1'000);
    for (auto state = ProtocolState::probe; state <= ProtocolState::exited;
         state = static_cast<ProtocolState>(static_cast<int>(state) + 1))
        EXPECT_TRUE(outcome.amount.states.contains(state)) << to_text(state);
}

TEST(Campaign, HasTheSameResultWithAnyNumberOfThreads)
{
    auto const one = run({.first = 3, .last = 8, .steps = 500, .threads = 1});
    auto const three = run({.first = 3, .last = 8, .steps = 500, .threads = 3});
    EXPECT_EQ(one.amount.steps, three.amount.steps);
    EXPECT_EQ(one.amount.events, three.amount.events);
    EXPECT_EQ(one.amount.states, three.amount.states);
}

TEST(Campaign, CountsFinishedSeeds)
{
    std::vector<std::int64_t> finished;
    Campaign const campaign{.first = 1, .last = 3, .steps = 1, .threads = 2};
    ASSERT_TRUE(run_campaign(campaign, [&](std::int64_t n) { finished.push_back(n); }));
    EXPECT_THAT(finished, testing::ElementsAre(1, 2, 3));
}

TEST(Campaign, LogsTheSameSeedInTheSameWay)
{
    curtail::test::TemporaryFolder const folder;
    auto const log_of = [&](std::string const& name) {
        std::filesystem::create_directory(folder / name);
        auto const outcome =
            run({.first = 7, .last = 7, .steps = 1, .log_folder = (folder / name).string()});
        EXPECT_EQ(outcome.amount.runs, 1);
        return read_file(folder / name / "7.log").value();
    };
    auto const first = log_of("first");
    EXPECT_THAT(first, testing::HasSubstr("< Tick"));
    EXPECT_EQ(first, log_of("second"));
}

TEST(Campaign, NamesALogThatItCannotWrite)
{
    auto const outcome =
        run_campaign({.steps = 1, .log_folder = "/no/such/folder"}, [](std::int64_t) {});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ExitCode::cannot_create);
    EXPECT_THAT(outcome.error().message(), testing::HasSubstr("/no/such/folder/0.log"));
}

TEST(Plans, HaveTwoToEightSites)
{
    std::set<std::size_t> counts;
    for (std::uint64_t seed = 0; seed < 200; ++seed) counts.insert(plan_of(seed).run.sites.size());
    EXPECT_THAT(counts, testing::ElementsAre(2, 3, 4, 5, 6, 7, 8));
}

}  // namespace
}  // namespace curtail::protocol::simulator
