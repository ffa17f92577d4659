// SPDX-License-Identifier: Apache-2.0
// A full, read-only or lossy store, and work with values that are not finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scripted_site.hpp"
#include "simulator/simulator.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::protocol {
namespace {

using simulator::Simulator;
using test::ScriptedSite;
using test::small_run;
using testing::HasSubstr;

TEST(StoreFailures, SitesRetryWithPausesWhileTheStoreIsFullAndRecover)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 11, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    // The store fills up while a site holds the lease, for longer than any lease is valid.
    auto const waits = [&] {
        return s.site_of(0)->status().state == ProtocolState::wait ||
               s.site_of(1)->status().state == ProtocolState::wait;
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, waits));
    auto const before = s.store().chain().size();
    s.fill_store(Seconds{120});
    s.run_until(s.now() + Seconds{120}, [] { return false; });
    EXPECT_LE(s.creates_refused(), 480)
        << "two sites, two minutes: less than two creates per second and site";
    EXPECT_GE(s.creates_refused(), 10);
    s.run_until(s.now() + Seconds{60}, [] { return false; });
    EXPECT_GE(s.store().chain().size(), before + 10);
    EXPECT_EQ(s.living_count(), 2U);
    EXPECT_TRUE(simulator::verify_objects(s.store().source()));
}

class Outage : public testing::TestWithParam<ProtocolState> {};

TEST_P(Outage, SitesTrainOnTheBlocksThatTheyHold)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 21, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const site = [&] { return s.site_of(0)->status(); };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{300}, [&] { return site().state == GetParam(); }));
    auto const untrained = [&] {
        auto blocks = site().held - site().since;
        for (auto const& ranges : site().undecided) blocks -= ranges;
        return blocks;
    };
    ASSERT_FALSE(untrained().empty());
    s.take_store_away(Seconds{60});
    s.run_until(s.now() + Seconds{59}, [] { return false; });
    EXPECT_TRUE(untrained().empty()) << untrained().to_string();
    auto const before = s.store().chain().size();
    s.run_until(s.now() + Seconds{60}, [] { return false; });
    EXPECT_GE(s.store().chain().size(), before + 10);
    EXPECT_EQ(s.living_count(), 2U);
    auto const summary = simulator::verify_objects(s.store().source());
    EXPECT_TRUE(summary) << (summary ? "" : summary.error().message());
}

INSTANTIATE_TEST_SUITE_P(StoreFailures, Outage,
                         testing::Values(ProtocolState::publish, ProtocolState::lease,
                                         ProtocolState::wait, ProtocolState::gather,
                                         ProtocolState::merge, ProtocolState::commit,
                                         ProtocolState::adopt),
                         [](auto const& tested) { return to_text(tested.param); });

TEST(StoreFailures, ALeavingSiteWithAnnouncedWorkExitsWithSuccessWhenTheStoreIsFull)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 12, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const waits = [&] {
        return s.site_of(0)->status().state == ProtocolState::wait ||
               s.site_of(0)->status().state == ProtocolState::gather;
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, waits));
    s.fill_store(Seconds{60});
    s.stop(0, Seconds{2});
    ASSERT_TRUE(s.run_until(s.now() + Seconds{3}, [&] { return s.living_count() == 1; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::ok);
}

TEST(StoreFailures, ALeavingSiteReportsWorkThatTheStoreRejected)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 13, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const worked = [&] {
        return !s.site_of(0)->status().since.empty() && s.site_of(0)->status().undecided.empty();
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, worked));
    s.fill_store(Seconds{60});
    s.stop(0, Seconds{2});
    ASSERT_TRUE(s.run_until(s.now() + Seconds{3}, [&] { return s.living_count() == 1; }));
    ASSERT_TRUE(s.exits().back().error);
    EXPECT_EQ(s.exits().back().code, ExitCode::unavailable);
    EXPECT_THAT(s.exits().back().error->message(),
                HasSubstr("tokens neither as a commit nor as a contribution"));
}

TEST(StoreFailures, ALoneSiteReportsWorkThatTheStoreRejectedAfterEarlierCommits)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Simulator s(small_run(2000, {{"A"}}), seed, {});
        s.start(0);
        s.run_until(Seconds{40}, [] { return false; });
        s.fill_store(Seconds{600});
        auto const before = s.store().chain().size();
        ASSERT_GE(before, 4U);
        s.run_until(s.now() + Seconds{60}, [] { return false; });
        s.stop(0, Seconds{2});
        ASSERT_TRUE(s.run_until(s.now() + Seconds{3}, [&] { return s.living_count() == 0; }));
        ASSERT_TRUE(s.exits().back().error);
        auto const message = s.exits().back().error->message();
        EXPECT_THAT(
            message,
            testing::Not(HasSubstr("about " + commit_name({static_cast<std::int64_t>(before)}))))
            << "it exists, and has none of this work";
    }
}

// A lone site, which gets no answer about a commit of its work.
class UnansweredCommit : public ScriptedSite {
  protected:
    UnansweredCommit() : ScriptedSite(with_large_grants()) {}
    static RunSpec with_large_grants()
    {
        auto spec = small_run();
        spec.params.grant_quantum = 40;
        return spec;
    }
    Input got(Get const& get) override
    {
        return silent && sent ? Input(Unknown{get.op, "silent"}) : ScriptedSite::got(get);
    }
    Input created(Create const& create) override
    {
        sent = silent;
        return silent ? Input(Unknown{create.op, "silent"}) : ScriptedSite::created(create);
    }
    // Trains two blocks, and stores the model with them. Returns the answer to that.
    Stored train_and_store()
    {
        auto const load = until<LoadModel>(Tick{});
        held = until<Train>(Loaded{load.op}).blocks;
        auto const cut = until<Cut>(Stepped{held.lowest(2), FractionalSeconds{1}});
        auto const store = until<StoreModel>(CutReady{cut.op, 1.0, 0});
        about = "about " + commit_name(site.tip()->number.next()) + " with ";
        return {store.op, test::part(store.place.part, store.place.name)};
    }
    // Gives the site `input`, and answers its questions until it makes an output of this type.
    template <class What>
    What until(Input const& input)
    {
        std::optional<What> found;
        serve_until(input, [&](std::vector<Output> const& outputs) {
            for (auto const& output : outputs)
                if (auto const* what = std::get_if<What>(&output)) found = *what;
            return found.has_value();
        });
        return *found;
    }
    void serve_until(Input input, std::function<bool(std::vector<Output> const&)> const& done)
    {
        for (std::deque<Input> inputs{std::move(input)};;) {
            if (inputs.empty()) inputs.push_back(tick());
            if (last = give_first(inputs); done(last)) return;
        }
    }
    Tick tick()
    {
        now = std::max(now, site.wake().value());
        return {};
    }
    std::string leave()
    {
        serve_until(StopRequested{now + Seconds{1}, now + Seconds{2}},
                    [&](auto const&) { return site.exited(); });
        return exit_error(last).message();
    }
    // The last events about work that may be lost, with its blocks.
    [[nodiscard]] std::vector<std::string> events() const
    {
        std::vector<std::string> found;
        for (auto const& output : last) {
            auto const* note = std::get_if<Note>(&output);
            auto const tokens = note != nullptr ? note->details.integer_at("tokens") : std::nullopt;
            if (tokens)
                found.push_back(note->type + " " +
                                std::to_string(*tokens / run.params.block_tokens.value));
        }
        return found;
    }
    [[nodiscard]] std::string tokens(std::int64_t blocks) const
    {
        return std::to_string((blocks * run.params.block_tokens).value) + " tokens";
    }
    bool silent{};  ///< the store does not answer from the next create on
    bool sent{};    ///< it has got this create
    Ranges held;
    std::string about;  ///< the unanswered commit, in the message
    std::vector<Output> last;
};

TEST_F(UnansweredCommit, MayHaveTheWorkUpToItsCut)
{
    auto const stored = train_and_store();
    silent = true;
    (void)until<Create>(stored);
    EXPECT_THAT(leave(), testing::AllOf(HasSubstr(about + "the last " + tokens(2)),
                                        HasSubstr("check with `curtail-status`")));
    EXPECT_THAT(events(), testing::ElementsAre("unanswered 2"));
}

TEST_F(UnansweredCommit, HasNoneOfTheWorkAfterItsCut)
{
    auto const stored = train_and_store();
    silent = true;
    (void)until<Train>(stored);
    auto const later = (held - held.lowest(2)).lowest(3);
    (void)site.on(now, Stepped{later, FractionalSeconds{1}});
    EXPECT_THAT(leave(), testing::AllOf(HasSubstr("the last " + tokens(3) + " neither"),
                                        HasSubstr(about + "the " + tokens(2)),
                                        HasSubstr("this work is lost")));
    EXPECT_THAT(events(), testing::ElementsAre("unanswered 2", "lost 3"));
}

// Both sites hold blocks for more than one round.
class Refused : public testing::Test {
  protected:
    Refused()
    {
        s.start(0);
        s.start(1);
        auto const trains = [&] {
            return s.site_of(0)->status().state == ProtocolState::run && !untrained().empty();
        };
        s.run_until(Seconds{20}, [] { return false; });
        EXPECT_TRUE(s.run_until(s.now() + Seconds{60}, trains));
    }
    [[nodiscard]] Ranges untrained() const
    {
        auto const site = s.site_of(0)->status();
        auto blocks = site.held - site.since;
        for (auto const& ranges : site.undecided) blocks -= ranges;
        return blocks;
    }
    Simulator s{small_run(2000, {{"A"}, {"B"}}), 21, {}};
};

TEST_F(Refused, ASiteExitsAfterDropAfterWhenItHasUsedItsBlocks)
{
    auto const refused = s.now();
    s.cut_off(0, Seconds{300}, true);
    ASSERT_TRUE(s.run_until(s.now() + Seconds{120}, [&] { return s.living_count() == 1; }));
    EXPECT_GE(s.now() - refused, small_run().params.drop_after + small_run().params.skew);
    auto const& exit = s.exits().back();
    ASSERT_TRUE(exit.error);
    EXPECT_EQ(exit.code, ExitCode::permission);
    EXPECT_THAT(exit.error->message(), HasSubstr("store has refused access for"));
    EXPECT_THAT(exit.error->message(), HasSubstr("tokens are lost"));
    auto const before = s.store().chain().back().totals.tokens;
    s.run_until(s.now() + Seconds{60}, [] { return false; });
    EXPECT_GT(s.store().chain().back().totals.tokens, before) << "the other site goes on";
    EXPECT_TRUE(simulator::verify_objects(s.store().source()));
}

TEST_F(Refused, ASiteStaysWhenItGetsAccessAgainInTime)
{
    s.cut_off(0, small_run().params.drop_after - Seconds{1}, true);
    s.run_until(s.now() + Seconds{120}, [] { return false; });
    EXPECT_EQ(s.living_count(), 2U);
}

// The older of two processes of a site leaves, so it gets no work any more.
TEST(RefusedWhileLeaving, BothProcessesOfASiteExit)
{
    for (int moment = 15; moment < 40; ++moment) {
        Simulator s(small_run(2000, {{"A"}, {"B"}}), static_cast<std::uint32_t>(moment), {});
        s.start(0);
        s.start(1);
        s.run_until(Seconds{20}, [] { return false; });
        s.start(0);
        s.run_until(s.now() + Millis{100} * moment, [] { return false; });
        s.cut_off(0, Seconds{300}, true);
        EXPECT_TRUE(s.run_until(s.now() + Seconds{120}, [&] { return s.living_count() == 1; }))
            << moment;
    }
}

TEST(RefusedAlone, ALoneSiteWaitsForAccessAndLosesNothing)
{
    Simulator s(small_run(2000, {{"A"}}), 21, {});
    s.start(0);
    s.run_until(Seconds{20}, [] { return false; });
    s.cut_off(0, Seconds{100}, true);
    s.run_until(s.now() + Seconds{99}, [] { return false; });
    auto const before = s.store().chain().back().totals.tokens;
    s.run_until(s.now() + Seconds{20}, [] { return false; });
    EXPECT_EQ(s.living_count(), 1U);
    EXPECT_GT(s.store().chain().back().totals.tokens, before);
}

TEST_F(Refused, ASiteThatCannotReachTheStoreWaits)
{
    s.cut_off(0, Seconds{300}, false);
    s.run_until(s.now() + Seconds{290}, [] { return false; });
    EXPECT_EQ(s.living_count(), 2U);
}

TEST(NotFinite, ThreeSuchRoundsInARowEndTheSite)
{
    simulator::Chaos chaos;
    chaos.nan = 1;
    Simulator s(small_run(2000, {{"A"}}), 15, chaos);
    s.start(0);
    ASSERT_TRUE(s.run_until(Seconds{120}, [&] { return s.living_count() == 0; }));
    ASSERT_TRUE(s.exits().back().error);
    EXPECT_EQ(s.exits().back().code, ExitCode::data);
    EXPECT_THAT(s.exits().back().error->message(), HasSubstr("three rounds in a row"));
    EXPECT_EQ(s.store().chain().back().totals.tokens, Tokens{});
    auto const v = simulator::verify_objects(s.store().source());
    ASSERT_TRUE(v) << v.error().message();
    EXPECT_EQ(v->refused, 3);
}

class Forbidden : public ScriptedSite {
  protected:
    Input created(Create const& create) override
    {
        ++creates;
        return Unknown{create.op, "cannot write " + create.name + ": Read-only file system",
                       ExitCode::permission};
    }
    int creates{0};
};

TEST_F(Forbidden, AReadOnlyStoreEndsTheStartAfterAFewTries)
{
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.message(), HasSubstr("Read-only file system"));
    EXPECT_LE(creates, 10);
}

// A copy that was interrupted has commits, but no run.json.
class NoRunRecord : public ScriptedSite {
  protected:
    NoRunRecord()
    {
        (void)serve(Tick{});
        record = objects.at(run_name);
        objects.erase(run_name);
        site = Site({{{"B"}, 0x22}, run, 0});
    }
    Input got(Get const& get) override
    {
        if (get.name == run_name && ++reads > old_answers) objects.emplace(run_name, record);
        return ScriptedSite::got(get);
    }
    std::string record;
    int reads{0};
    int old_answers{1000};
};

TEST_F(NoRunRecord, ASiteDoesNotStartTheRun)
{
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(),
                HasSubstr("run.json is missing, but commits/00000001.json exists"));
    EXPECT_THAT(error.message(), HasSubstr("repeat `curtail-store copy`"));
    EXPECT_FALSE(objects.contains(run_name));
}

TEST_F(NoRunRecord, ASiteWaitsWhileTheAnswerMayBeOld)
{
    old_answers = 10;
    (void)serve(Tick{});
    EXPECT_FALSE(site.exited());
    EXPECT_TRUE(site.status().member);
}

TEST(StoreFailures, NoSiteContinuesFromAnInterruptedCopy)
{
    auto const run = small_run(200, {{"A"}, {"B"}});
    Simulator original(run, 16, {});
    original.start(0);
    original.run_until(Seconds{10}, [] { return false; });
    simulator::Chaos chaos;
    chaos.no_answer = 0.2;
    Simulator s(run, 17, chaos);
    for (auto const* name : {"commits/00000001.json", "commits/00000002.json"})
        s.store().inject(name, original.store().small().at(name));
    s.start(0);
    s.start(1);
    ASSERT_TRUE(s.run_until(Seconds{600}, [&] { return s.living_count() == 0; }));
    for (auto const& exit : s.exits()) EXPECT_EQ(exit.code, ExitCode::protocol);
    EXPECT_EQ(s.store().get(run_name), std::nullopt);
}

TEST_F(ScriptedSite, ACommitLostFromTheChainIsReportedByName)
{
    (void)serve(Tick{});
    ASSERT_TRUE(objects.contains("commits/00000002.json"));
    objects.erase("commits/00000001.json");
    copies.clear();
    site = Site({{{"B"}, 0x22}, run, 0});
    auto const outputs = serve(Tick{});
    auto const error = exit_error(outputs);
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("commits/00000001.json is missing"));
}

}  // namespace
}  // namespace curtail::protocol
