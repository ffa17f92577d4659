// SPDX-License-Identifier: Apache-2.0
// A store that never answers a read, while the site has something more urgent to do.
#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

// A lone member with a model. From then on, the store answers nothing.
class StalledRead : public ScriptedSite {
  protected:
    StalledRead() : ScriptedSite(large_grants()) {}
    static RunSpec large_grants()
    {
        auto run = small_run(2000);
        run.params.grant_quantum = 8;
        run.params.checkpoint_interval = Seconds{20};
        run.params.drop_after = Seconds{40};
        return run;
    }
    void load()
    {
        auto outputs = serve(Tick{});
        outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
        loaded = now;
        auto const held = std::get<Train>(outputs.back()).blocks;
        take(site.on(now, Stepped{held.lowest(1), FractionalSeconds{1}}));
    }
    // Moves the clock from timer to timer until the site asks for a cut, or `end`.
    void run_until_cut(MonoTime end)
    {
        while (!cut && site.wake() && *site.wake() <= end) {
            now = std::max(now, *site.wake());
            take(site.on(now, Tick{}));
        }
    }
    void take(std::vector<Output> const& outputs)
    {
        for (auto const& output : outputs) {
            if (auto const* get = std::get_if<Get>(&output)) unanswered.push_back(*get);
            if (auto const* asks = std::get_if<Cut>(&output)) cut = *asks;
        }
    }
    MonoTime loaded{};
    std::vector<Get> unanswered;
    std::optional<Cut> cut;
};

TEST_F(StalledRead, DoesNotDelayACut)
{
    load();
    run_until_cut(loaded + Seconds{60});
    ASSERT_FALSE(unanswered.empty()) << "the site must have looked for the next commit";
    ASSERT_TRUE(cut);
    EXPECT_LE(now, loaded + run.params.checkpoint_interval + Seconds{1});
}

TEST_F(StalledRead, OfTheFirstModelLetsTheSiteLookForANewerOne)
{
    auto const load = std::get<LoadModel>(serve(Tick{}).back());
    now += run.params.poll_run + Seconds{1};
    auto const end = now + Millis{200};
    for (std::deque<Input> inputs{Loaded{load.op}}; !inputs.empty();) take(give_first(inputs));
    EXPECT_LT(now, end);
    EXPECT_TRUE(std::ranges::any_of(unanswered, [&](Get const& get) {
        return get.name == commit_name(site.tip()->number.next());
    }));
}

TEST_F(StalledRead, DoesNotDelayAStop)
{
    load();
    run_until_cut(loaded + Seconds{5});
    ASSERT_FALSE(unanswered.empty());
    auto const asked = now = loaded + Seconds{6};
    take(site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}}));
    run_until_cut(now + Seconds{60});
    ASSERT_TRUE(cut);
    EXPECT_TRUE(cut->leaving);
    EXPECT_EQ(now, asked) << "the read has had its time";
}

TEST_F(StalledRead, KeepsItsTimeIfAStopComesAtOnce)
{
    load();
    while (unanswered.empty()) {
        now = std::max(now, *site.wake());
        take(site.on(now, Tick{}));
    }
    auto const asked = now;
    take(site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}}));
    EXPECT_FALSE(cut);
    run_until_cut(now + Seconds{60});
    EXPECT_EQ(now, asked + Seconds{1});
    ASSERT_TRUE(cut);
}

TEST_F(StalledRead, MayStillBeAnsweredLate)
{
    load();
    run_until_cut(loaded + Seconds{60});
    ASSERT_TRUE(cut);
    auto const before = site.status();
    EXPECT_TRUE(site.on(now, Got{unanswered.back().op, "{}"}).empty());
    EXPECT_EQ(site.status().state, before.state);
    EXPECT_THROW((void)site.on(now, Got{unanswered.back().op, "{}"}), std::logic_error)
        << "each question has one answer";
}

}  // namespace
}  // namespace curtail::protocol::test
