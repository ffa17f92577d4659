// SPDX-License-Identifier: Apache-2.0
// For how long a member counts as silent, and how a site follows the store's clock.
#include "protocol/site/watch.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "protocol/site/store_clock.hpp"
#include "simulator/simulator.hpp"

#include "protocol/records/fixtures.hpp"

namespace curtail::protocol {
namespace {

using site::StoreClock;
using site::StoreUse;
using site::Watch;

constexpr Millis skew{2'000};

MonoTime at(int seconds) { return MonoTime{Seconds{seconds}}; }

Commit tip(Seq seq, Ranges held = {})
{
    Commit c;
    Member m;
    m.id = test::member("A", 2);
    m.seq = seq;
    m.held = std::move(held);
    c.members = {m};
    return c;
}

class Silence : public testing::Test {
  protected:
    Silence() { watch.observe(tip({1}), at(10)); }
    [[nodiscard]] Millis silent(int seconds) const
    {
        return watch.silent_for(test::member("A", 2), at(seconds));
    }
    Watch watch;
};

TEST_F(Silence, CountsFromTheCommitThatLastShowedProgress)
{
    watch.observe(tip({1}), at(15));
    EXPECT_EQ(silent(20), Seconds{10});
    watch.observe(tip({2}), at(20));
    EXPECT_EQ(silent(21), Seconds{1});
}

TEST_F(Silence, CountsFromTheCommitThatGivesBlocks)
{
    watch.observe(tip({1}, Ranges::between(0, 2)), at(30));
    EXPECT_EQ(silent(31), Seconds{1}) << "without blocks, the member can make no progress";
    watch.observe(tip({1}, Ranges::between(0, 4)), at(40));
    EXPECT_EQ(silent(41), Seconds{11});
}

TEST_F(Silence, BeginsAgainAfterAnOutage)
{
    for (int second : {11, 12, 14}) watch.failed(StoreUse::read, at(second), skew);
    watch.answered(StoreUse::read, at(15), skew);
    EXPECT_EQ(silent(20), Seconds{5});
}

TEST_F(Silence, IgnoresAFewFailures)
{
    for (auto const use : {StoreUse::read, StoreUse::write}) {
        for (int second : {11, 14}) watch.failed(use, at(second), skew);
        watch.answered(use, at(15), skew);
        for (int i = 0; i < 3; ++i) watch.failed(use, at(16), skew);
        watch.answered(use, at(17), skew);
    }
    EXPECT_EQ(silent(20), Seconds{10}) << "two are too few, three at once are too short";
}

TEST_F(Silence, BeginsAgainWithEachWriteThatAFullStoreRefuses)
{
    for (int second : {11, 13, 15}) {
        watch.failed(StoreUse::write, at(second), skew);
        watch.answered(StoreUse::read, at(second), skew);
    }
    EXPECT_EQ(silent(15), Seconds{0});
    watch.failed(StoreUse::write, at(18), skew);
    EXPECT_EQ(silent(18), Seconds{0});
    watch.answered(StoreUse::write, at(20), skew);
    EXPECT_EQ(silent(21), Seconds{1});
    watch.failed(StoreUse::write, at(24), skew);
    EXPECT_EQ(silent(24), Seconds{4}) << "the outage is over";
}

TEST_F(Silence, BeginsAgainAfterASuspension)
{
    watch.input(at(11), skew);
    watch.input(at(13), skew);
    EXPECT_EQ(silent(13), Seconds{3});
    watch.input(at(16), skew);
    EXPECT_EQ(silent(20), Seconds{4});
}

TEST(StoreClock, FollowsQuickAnswersOnly)
{
    StoreClock clock;
    Time const noon = from_unix_ms(1'700'000'000'000);
    EXPECT_FALSE(clock.measure(noon, at(1), at(2)));
    EXPECT_EQ(clock.at(at(12)), noon + Seconds{10});
    EXPECT_FALSE(clock.measure(noon + Seconds{60}, at(10), at(16)));
    EXPECT_EQ(clock.at(at(12)), noon + Seconds{10}) << "the answer took 6 s";
    EXPECT_EQ(clock.measure(noon + Seconds{70}, at(11), at(12)), Seconds{60});
    EXPECT_EQ(clock.at(at(12)), noon + Seconds{70});
}

// Runs three sites for 20 s, then breaks the store, then runs them for 80 s.
void expect_no_removal(std::uint64_t seed, std::function<void(simulator::Simulator&)> const& breaks)
{
    simulator::Simulator s(test::small_run(2000, {{"A"}, {"B"}, {"C"}}), seed, {});
    for (std::size_t i = 0; i < 3; ++i) s.start(i);
    s.run_until(Seconds{20}, [] { return false; });
    breaks(s);
    s.run_until(s.now() + Seconds{80}, [] { return false; });
    auto const& chain = s.store().chain();
    EXPECT_GT(chain.back().time - from_unix_ms(1'700'000'000'000), Seconds{70});
    for (auto const& commit : chain)
        EXPECT_TRUE(commit.removed.empty())
            << "commit " << commit.number.value << ", seed " << seed;
}

TEST(Outage, LongerThanTheLimitOfSilenceRemovesNoLivingMember)
{
    for (std::uint64_t seed = 31; seed < 41; ++seed)
        expect_no_removal(seed, [](auto& s) { s.take_store_away(Seconds{40}); });
}

TEST(Outage, AStoreThatIsFullForLongRemovesNoLivingMember)
{
    for (std::uint64_t seed = 31; seed < 61; ++seed)
        expect_no_removal(seed, [](auto& s) { s.fill_store(Seconds{40}); });
}

TEST(Outage, AStoreThatIsFullTwiceRemovesNoLivingMember)
{
    for (std::uint64_t seed = 31; seed < 61; ++seed)
        expect_no_removal(seed, [](auto& s) {
            s.fill_store(Seconds{9});
            s.run_until(s.now() + Seconds{9} + Millis{700}, [] { return false; });
            s.fill_store(Seconds{9});
        });
}

}  // namespace
}  // namespace curtail::protocol
