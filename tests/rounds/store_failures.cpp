// SPDX-License-Identifier: Apache-2.0
// A full, read-only or lossy store, foreign objects, and work with values that are not finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rounds/simulator/simulator.hpp"
#include "scripted_site.hpp"

namespace curtail::rounds {
namespace {

using test::ScriptedSite;
using test::Simulator;
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
        return s.site_of(0)->status().state == State::wait ||
               s.site_of(1)->status().state == State::wait;
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
    EXPECT_TRUE(chain::verify_objects(s.store().source()));
}

TEST(StoreFailures, ALeavingSiteWithAnnouncedWorkExitsWithSuccessWhenTheStoreIsFull)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 12, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const waits = [&] {
        return s.site_of(0)->status().state == State::wait ||
               s.site_of(0)->status().state == State::gather;
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

TEST(Deltas, RefusedOnesAreDeletedWithTheirRound)
{
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        test::Chaos chaos;
        chaos.refused = 0.5;
        Simulator s(small_run(4000, {{"A"}, {"B"}}), seed, chaos);
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

TEST(Deltas, UnannouncedOnesOfADeadMemberAreDeletedWithTheirRound)
{
    for (bool const unreadable : {false, true}) {
        Simulator s(small_run(4000, {{"A"}, {"B"}}), 16, {});
        s.start(0);
        s.start(1);
        s.run_until(Seconds{20}, [] { return false; });
        std::string header;
        auto const stored_only = [&] {
            auto const id = s.site_of(0)->status().member->value;
            for (auto const& [name, content] : s.store().payloads()) {
                if (name.rfind("deltas/", 0) != 0 || name.find("/" + id + "/") == std::string::npos)
                    continue;
                auto const from = name.find(id);
                header = "contrib/" + name.substr(from, name.rfind('/') - from) + ".json";
                if (!s.store().get(header)) return true;
            }
            return false;
        };
        ASSERT_TRUE(s.run_until(s.now() + Seconds{20}, stored_only));
        s.kill(0);
        if (unreadable) s.store().inject(header, "{}");
        s.run_until(s.now() + Seconds{120}, [] { return false; });
        EXPECT_EQ(s.store().chain().back().members.size(), 1U);
        expect_no_old_deltas(s, unreadable ? "invalid header" : "no header");
    }
}

TEST(NotFinite, ThreeSuchRoundsInARowEndTheSite)
{
    test::Chaos chaos;
    chaos.nan = 1;
    Simulator s(small_run(2000, {{"A"}}), 15, chaos);
    s.start(0);
    ASSERT_TRUE(s.run_until(Seconds{120}, [&] { return s.living_count() == 0; }));
    ASSERT_TRUE(s.exits().back().error);
    EXPECT_EQ(s.exits().back().code, ExitCode::data);
    EXPECT_THAT(s.exits().back().error->message(), HasSubstr("three rounds in a row"));
    EXPECT_EQ(s.store().chain().back().totals.tokens, Tokens{});
    auto const v = chain::verify_objects(s.store().source());
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

TEST_F(ScriptedSite, ACommitLostFromTheChainIsReportedByName)
{
    (void)serve(Tick{});
    ASSERT_TRUE(objects.contains("commits/00000002.json"));
    objects.erase("commits/00000001.json");
    // Only number 2 answers, as in a bisection.
    auto const second = objects.at("commits/00000002.json");
    objects["commits/00000001.json"] = second;
    site = Site({{{"B"}, 0x22}, run, 0});
    auto outputs = site.on(now, Tick{});
    std::vector<std::string> asked;
    for (int i = 0; i < 1000 && !site.exited(); ++i) {
        now += Millis{10};
        Input answer = Tick{};
        for (auto const& output : outputs) {
            if (auto const* create = std::get_if<Create>(&output)) answer = created(*create);
            if (auto const* get = std::get_if<Get>(&output)) {
                bool const again = std::count(asked.begin(), asked.end(), get->name) > 0;
                asked.push_back(get->name);
                answer = get->name == "commits/00000001.json" && again ? Input(Missing{get->op})
                                                                       : got(*get);
            }
        }
        if (std::holds_alternative<Tick>(answer) && site.wake()) now = std::max(now, *site.wake());
        outputs = site.on(now, answer);
    }
    auto const error = exit_error(outputs);
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(),
                HasSubstr("commits/00000001.json is missing, but commits/00000002.json exists"));
}

// A run with pending headers of B that no program of Curtail would write.
class ForeignHeaders : public ScriptedSite {
  protected:
    explicit ForeignHeaders() : ScriptedSite(wide_run()) {}
    static RunSpec wide_run()
    {
        auto run = small_run();
        run.params.max_undecided = 100;
        return run;
    }
    // Adds a second site that joined long ago and wrote `headers` in a row.
    void add_departed_member(std::vector<Header> const& headers)
    {
        (void)serve(Tick{});
        auto const parent =
            *decode_commit(objects.at("commits/00000002.json"), "commits/00000002.json");
        Process const other{{"B"}, 0x22};
        Intents intents;
        intents.admit = Admission{other, 1'000'000};
        intents.remove = {{MemberId{"A.00000011.2"}, Removal::silent}};
        auto const id = member_id(other, {3});
        auto const joined = next(run, parent, sha256(objects.at("commits/00000002.json")), {id, 1},
                                 from_unix_ms(1'600'000'000'000), {}, intents);
        objects["commits/00000003.json"] = encode(*joined).bytes;
        for (auto header : headers) {
            header.run = run.run;
            header.member = id;
            header.base_round = {1};
            objects[header_name(id, header.seq)] = encode(header).bytes;
        }
        site = Site({{{"A"}, 0x33}, run, 0});
    }
    // The chain's decisions on them.
    std::vector<Decided> decided()
    {
        auto const outputs = serve(Tick{});
        EXPECT_TRUE(!outputs.empty() && std::holds_alternative<LoadModel>(outputs.back()))
            << exit_error(outputs).message();
        std::vector<Decided> all;
        for (auto const& [name, bytes] : objects) {
            if (name.rfind("commits/", 0) != 0) continue;
            auto const commit = decode_commit(bytes, name);
            all.insert(all.end(), commit->decided.begin(), commit->decided.end());
        }
        return all;
    }
};

TEST_F(ForeignHeaders, AHeaderThatFitsInNoCommitIsRefusedAndBlocksNoSite)
{
    Header nan;
    nan.seq = {1};
    nan.ranges = Ranges::between(1, 2);
    nan.tokens = {8};
    nan.parts = {{{"d0", "deltas/1/x", 1, sha256("")}, std::nan(""), 0}};
    Header steps;
    steps.seq = {2};
    steps.steps = (std::int64_t{1} << 53) - 1;
    Header wide;
    wide.seq = {3};
    for (std::int64_t i = 0; i < 1000; ++i) wide.ranges += Ranges::between(2 * i, 2 * i + 1);
    add_departed_member({nan, steps, wide});
    auto const all = decided();
    ASSERT_EQ(all.size(), 3U);
    for (auto const& d : all) EXPECT_EQ(d.refused, Refusal::digest);
}

TEST_F(ForeignHeaders, ManyInvalidHeadersShareNoGrowingPause)
{
    std::vector<Header> headers(40);
    for (std::size_t i = 0; i < headers.size(); ++i)
        headers[i].seq = {static_cast<std::int64_t>(i) + 1};
    add_departed_member(headers);
    for (auto& [name, bytes] : objects)
        if (name.rfind("contrib/", 0) == 0) bytes = "{}";
    auto const began = now;
    EXPECT_EQ(decided().size(), headers.size());
    EXPECT_LT(now - began, Seconds{110}) << "six reads of each, with five short pauses";
}

TEST_F(ForeignHeaders, TheWidestHeadersAreRefusedUntilTheRecordFits)
{
    std::vector<Header> headers;
    for (std::int64_t seq = 1; seq <= 60; ++seq) {
        Header h;
        h.seq = {seq};
        constexpr std::int64_t far = 9'000'000'000'000'000;
        for (std::int64_t i = 0; i < 256; ++i)
            h.ranges += Ranges::between(far + 2 * i, far + 2 * i + 1);
        headers.push_back(h);
    }
    add_departed_member(headers);
    auto const all = decided();
    EXPECT_EQ(all.size(), 60U);
    auto const count = [&](Refusal reason) {
        return std::count_if(all.begin(), all.end(),
                             [&](auto const& d) { return d.refused == reason; });
    };
    EXPECT_GT(count(Refusal::digest), 0);
    EXPECT_EQ(count(Refusal::digest) + count(Refusal::wrong_run), 60);
}

}  // namespace
}  // namespace curtail::rounds
