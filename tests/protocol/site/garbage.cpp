// SPDX-License-Identifier: Apache-2.0
// A run deletes the models and deltas that it no longer needs.
#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "simulator/simulator.hpp"

namespace curtail::protocol {
namespace {

using simulator::Simulator;
using test::small_run;

TEST(Drains, LeaveNoExpiredModel)
{
    auto run = small_run(4000, {{"A"}});
    run.params.keep_models = 2;
    run.params.milestone_every = 0;
    Simulator s(run, 14, {});
    for (int window = 0; window < 6; ++window) {
        s.start(0);
        auto const rounds = s.store().chain().empty() ? 0 : s.store().chain().back().round.value;
        ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, [&] {
            return !s.store().chain().empty() && s.store().chain().back().round.value > rounds + 1;
        }));
        auto const trains = [&] { return !s.site_of(0)->status().since.empty(); };
        ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, trains));
        if (window == 3) {
            // Killed between its merge commit and the deletions: the next writer makes them.
            auto const round = s.store().chain().back().round;
            ASSERT_TRUE(s.run_until(s.now() + Seconds{60},
                                    [&] { return s.store().chain().back().round > round; }));
            s.kill(0);
        } else {
            s.stop(0, Seconds{20});
        }
        ASSERT_TRUE(s.run_until(s.now() + Seconds{60}, [&] { return s.living_count() == 0; }));
        s.run_until(s.now() + Seconds{30}, [] { return false; });
    }
    auto const newest = s.store().chain().back().round.value;
    int models = 0;
    for (auto const& [name, content] : s.store().payloads()) {
        if (name.rfind("models/", 0) != 0) continue;
        ++models;
        EXPECT_GT(std::stoll(name.substr(7)), newest - 2) << name;
    }
    EXPECT_EQ(models, 2);
}

TEST(Drains, ARoundOfManyRosterCommitsLeavesNoExpiredModel)
{
    auto run = small_run(4000, {{"A"}});
    run.params.keep_models = 2;
    run.params.milestone_every = 0;
    Simulator s(run, 17, {});
    s.start(0);
    ASSERT_TRUE(s.run_until(Seconds{60}, [&] {
        return !s.store().chain().empty() && s.store().chain().back().round.value >= 5;
    }));
    for (int i = 1; i <= 120; ++i) {
        auto const tip = s.store().chain().back();
        auto const bytes = *s.store().get(commit_name(tip.number));
        Intents intents;
        intents.rate = {tip.members.at(0).id, 1'000'000 + i};
        auto const roster =
            next(run, tip, sha256(bytes), {tip.members.at(0).id, 1000 + i}, tip.time, {}, intents);
        ASSERT_TRUE(s.store().create(commit_name(roster->number), encode(*roster).bytes));
    }
    auto const round = s.store().chain().back().round.value;
    ASSERT_TRUE(s.run_until(s.now() + Seconds{120},
                            [&] { return s.store().chain().back().round.value >= round + 5; }));
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    auto const newest = s.store().chain().back().round.value;
    for (auto const& [name, content] : s.store().payloads())
        EXPECT_GT(std::stoll(name.substr(name.find('/') + 1)), newest - 4) << name;
}

TEST(Starts, AtTheSameTimeLeaveNoExpiredModel)
{
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        auto run = small_run(4000, {{"A"}, {"B"}, {"C"}});
        run.params.milestone_every = 0;
        Simulator s(run, seed, {});
        for (std::size_t i = 0; i < 3; ++i) s.start(i);
        s.run_until(Seconds{60}, [] { return false; });
        auto const newest = s.store().chain().back().round.value;
        ASSERT_GT(newest, 8);
        for (auto const& [name, content] : s.store().payloads())
            EXPECT_GE(std::stoll(name.substr(name.find('/') + 1)),
                      newest - run.params.keep_models - 2)
                << name << ", seed " << seed;
    }
}

// Expects that no delta of a long finished round is left.
void expect_no_old_deltas(Simulator& s, std::string const& what)
{
    auto const newest = s.store().chain().back().round.value;
    for (auto const& [name, content] : s.store().payloads()) {
        if (name.rfind("deltas/", 0) != 0) continue;
        EXPECT_GE(std::stoll(name.substr(7)), newest - 6) << name << ", " << what;
    }
}

TEST(Deltas, ThatWereRefusedAreSwept)
{
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        simulator::Chaos chaos;
        chaos.refused = 0.5;
        auto run = small_run(4000, {{"A"}, {"B"}});
        run.params.sweep_after = Seconds{20};
        Simulator s(run, seed, chaos);
        s.start(0);
        s.start(1);
        s.run_until(Seconds{60}, [] { return false; });
        s.set_chaos({});
        s.run_until(s.now() + Seconds{60}, [] { return false; });
        auto const& chain = s.store().chain();
        auto const refused_all = [](Commit const& c) {
            return c.kind == Commit::Kind::roster && !c.decided.empty();
        };
        ASSERT_TRUE(std::any_of(chain.begin(), chain.end(), refused_all)) << seed;
        expect_no_old_deltas(s, "seed " + std::to_string(seed));
    }
}

TEST(Deltas, OfADeadMemberThatAreNotAnnouncedAreSwept)
{
    auto run = small_run(4000, {{"A"}, {"B"}});
    run.params.sweep_after = Seconds{20};
    Simulator s(run, 16, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const stored_only = [&] {
        auto const id = s.site_of(0)->status().member->value;
        for (auto const& [name, content] : s.store().payloads()) {
            if (name.rfind("deltas/", 0) != 0 || name.find("/" + id + "/") == std::string::npos)
                continue;
            auto const from = name.find(id);
            auto const header = "contrib/" + name.substr(from, name.rfind('/') - from) + ".json";
            if (!s.store().get(header)) return true;
        }
        return false;
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, stored_only));
    s.kill(0);
    s.run_until(s.now() + Seconds{120}, [] { return false; });
    EXPECT_EQ(s.store().chain().back().members.size(), 1U);
    expect_no_old_deltas(s, "no header");
}

}  // namespace
}  // namespace curtail::protocol
