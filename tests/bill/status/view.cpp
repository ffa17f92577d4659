// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bill/status/documents.hpp"
#include "bill/status/text.hpp"
#include "protocol/chain/small_run.hpp"
#include "run/runlog/event.hpp"
#include "support/memory_store.hpp"

namespace curtail::status {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct View : testing::Test {
    store::MemoryStore objects;
    chain::test::SmallRun run{objects};
};

TEST_F(View, ARunThatHasNotStartedIsNoError)
{
    auto const view = read_chain_view({objects, run.spec().run});
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_FALSE(*view);
}

TEST_F(View, ShowsTheNewestCommitItsMembersAndTheirPendingContributions)
{
    run.make();
    auto const view = read_chain_view({objects, run.spec().run}).value();
    ASSERT_TRUE(view);
    EXPECT_EQ(view->tip, run.tip());
    ASSERT_EQ(view->members.size(), 1U);
    EXPECT_EQ(view->members[0].row.id, run.a());
    ASSERT_EQ(view->members[0].pending.size(), 1U);
    EXPECT_EQ(view->members[0].pending[0].seq.value, 5);
    ASSERT_TRUE(view->lease);
    EXPECT_EQ(view->lease->member, run.a());
    EXPECT_EQ(view->round_began, run.tip().time);
}

TEST_F(View, ADamagedNewestCommitIsAnError)
{
    run.make();
    ASSERT_TRUE(
        objects.put(*chain::object_name(run.spec().run, protocol::commit_name(run.tip().number)),
                    store::bytes_of("{}")));
    EXPECT_EQ(read_chain_view({objects, run.spec().run}).error().code, ExitCode::protocol);
}

TEST_F(View, ADamagedHeaderOrLeaseIsANoteAndEverythingElseIsShown)
{
    run.make();
    auto const& id = run.spec().run;
    auto const put = [&](std::string const& name, std::string const& bytes) {
        ASSERT_TRUE(objects.put(*chain::object_name(id, name), store::bytes_of(bytes)));
    };
    put(protocol::header_name(run.a(), {6}), "{}");
    put(protocol::header_name(run.a(), {7}), std::string(300'000, 'x'));
    put(protocol::lease_name(run.tip().round, 2), "x");
    auto const view = read_chain_view({objects, id});
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ((*view)->members.at(0).pending.size(), 1U);
    ASSERT_TRUE((*view)->lease);
    EXPECT_EQ((*view)->lease->number, 1);
    EXPECT_THAT((*view)->notes,
                ElementsAre(HasSubstr("/6.json"), HasSubstr("/7.json"), HasSubstr("merge/")));
    EXPECT_THAT(overview_text({id, "file:///x", run.now(), *view, {}}),
                HasSubstr("note: unreadable: refused record contrib/"));
}

TEST_F(View, AMissingNewestModelIsANote)
{
    run.make();
    auto const& id = run.spec().run;
    EXPECT_TRUE(read_chain_view({objects, id}).value()->notes.empty());
    auto const model = run.tip().model.weights.name;
    ASSERT_TRUE(objects.remove(*chain::object_name(id, model)));
    EXPECT_THAT(read_chain_view({objects, id}).value()->notes,
                ElementsAre(HasSubstr("missing: " + model)));
}

TEST_F(View, ShowsWhatEachMemberDoesOrWaitsFor)
{
    run.make();
    auto view = *read_chain_view({objects, run.spec().run}).value();
    auto const a = run.a().value;
    EXPECT_THAT(activities(view, run.now() + Seconds{2}),
                ElementsAre(Activity{a, "is merging round 6; its lease ends in 3.0 s"},
                            Activity{a, "waits for a merge to include 1 contribution (2 blocks)"}));
    EXPECT_THAT(activities(view, run.now() + Seconds{7})[0].text,
                HasSubstr("its lease ended 2.0 s ago"));

    view.lease.reset();
    view.members[0].pending.clear();
    EXPECT_THAT(activities(view, run.now() + Seconds{1}),
                ElementsAre(Activity{a, "is training; its next checkpoint is due in 2.0 s"}));
    EXPECT_THAT(activities(view, run.now() + Seconds{5})[0].text, HasSubstr("2.0 s overdue"));
    EXPECT_THAT(activities(view, run.now() + Seconds{30})[0].text,
                HasSubstr("the next commit may remove it and free"));

    view.members[0].row.held = {};
    EXPECT_THAT(activities(view, run.now())[0].text, HasSubstr("no blocks left to train"));
    view.members.clear();
    EXPECT_THAT(activities(view, run.now())[0].text, HasSubstr("continues from commit 8"));
    view.tip.complete = true;
    EXPECT_THAT(activities(view, run.now())[0].text, HasSubstr("is complete"));
}

TEST_F(View, TextAndJsonHoldTheSameFigures)
{
    run.make();
    Overview const overview{run.spec().run,
                            "file:///x",
                            run.now(),
                            read_chain_view({objects, run.spec().run}).value(),
                            {}};
    auto const text = overview_text(overview);
    EXPECT_THAT(text, HasSubstr("commit    8 (merge, "));
    EXPECT_THAT(text, HasSubstr("tokens    112 of 320 (35.0 %) in 14 steps"));
    EXPECT_THAT(text, HasSubstr("14 blocks done"));
    auto const document = overview_json(overview);
    auto const* chain = document.find("chain")->as_object();
    ASSERT_NE(chain, nullptr);
    EXPECT_EQ(*chain->find("tokens"), json::Value(112));
    EXPECT_EQ(chain->find("members")->as_array()->size(), 1U);
    EXPECT_EQ(chain->find("waiting")->as_array()->size(), 2U);
}

TEST_F(View, TheSpeedTellsTheTrainingTimeLeft)
{
    run.make();
    Overview overview{run.spec().run,
                      "file:///x",
                      run.now(),
                      read_chain_view({objects, run.spec().run}).value(),
                      {}};
    EXPECT_THAT(overview_text(overview), Not(HasSubstr("tokens/s")));
    overview.speed = account::Speed{2, Seconds{1800}, run.now() - Seconds{10}};
    EXPECT_THAT(overview_text(overview),
                HasSubstr("\nspeed     2.0 tokens/s over the last 30m00s of training; 1m44s of "
                          "training left\n"));
    overview.speed->until -= Seconds{600};
    EXPECT_THAT(overview_text(overview),
                HasSubstr("of training, until 10m10s ago; 1m44s of training left\n"));
    auto const document = overview_json(overview);
    auto const* progress = document.find("chain")->as_object()->find("progress")->as_object();
    ASSERT_NE(progress, nullptr);
    EXPECT_EQ(*progress->find("target_tokens"), json::Value(320));
    EXPECT_EQ(*progress->find("share"), json::Value(0.35));
    EXPECT_EQ(*progress->find("training_left_s"), json::Value(104.0));
}

TEST_F(View, ShowsTheNewestHeldOutLossOfASitesJournal)
{
    run.make();
    auto const chain = read_chain_view({objects, run.spec().run}).value();
    config::Run config;
    config.run = run.spec().run;
    config.sites.resize(2);
    config.sites[0].site = {"A"};
    config.sites[1].site = {"B"};
    runlog::HeldOutLine before;
    before.time = run.now() - Seconds{200};
    before.commit = {3};
    before.round = {2};
    before.loss = 4.25;
    auto newest = before;
    newest.time = run.now() - Seconds{40};
    newest.commit = {5};
    newest.round = {4};
    newest.loss = 4.5;
    newest.standard_error = 0.0625;
    LogView logs{{account::SiteLogs{}, account::SiteLogs{}}};
    Overview overview{run.spec().run, "file:///x", run.now(), chain, {}};
    EXPECT_FALSE(read_held_out(config, logs, *chain));
    EXPECT_TRUE(overview_json(overview).find("held_out")->is_null());
    logs.sites[1]->evaluations = {before, newest};
    overview.held_out = read_held_out(config, logs, *chain);
    ASSERT_TRUE(overview.held_out);
    EXPECT_THAT(overview_text(overview),
                HasSubstr("\nheld-out  4.5000 nats per token at commit 5, 2 models (3 commits) "
                          "behind; at B, 40.0 s ago\n"
                          "          lowest before: 4.2500 at commit 3\n"
                          "warning   the held-out loss of commit 5 is 0.250 nats per token above "
                          "that of commit 3"));
    auto const document = overview_json(overview);
    auto const& shown = *document.find("held_out")->as_object();
    EXPECT_EQ(shown.text_at("site"), "B");
    EXPECT_EQ(shown.number_at("loss_nats"), 4.5);
    EXPECT_EQ(shown.integer_at("behind_models"), 2);
    EXPECT_EQ(shown.integer_at("behind_commits"), 3);
    EXPECT_EQ(shown.find("warnings")->as_array()->size(), 1U);
}

TEST_F(View, AnUnknownRateIsNull)
{
    run.make();
    auto view = *read_chain_view({objects, run.spec().run}).value();
    auto const rate = [&] {
        auto const document = overview_json({run.spec().run, "file:///x", run.now(), view, {}});
        return *document.find("chain")
                    ->as_object()
                    ->find("members")
                    ->as_array()
                    ->front()
                    .as_object()
                    ->find("blocks_per_s");
    };
    EXPECT_EQ(rate(), json::Value(1.0));
    view.members[0].row.rate = 0;
    EXPECT_TRUE(rate().is_null());
}

}  // namespace
}  // namespace curtail::status
