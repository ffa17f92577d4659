// SPDX-License-Identifier: Apache-2.0
// How one site begins, and what it does with single answers of the store and the trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol {
namespace {

using test::ScriptedSite;
using test::small_run;
using testing::HasSubstr;

class SiteWithLargeGrants : public ScriptedSite {
  protected:
    SiteWithLargeGrants()
        : ScriptedSite([] {
              auto spec = small_run();
              spec.params.grant_quantum = 8;
              return spec;
          }())
    {
    }
};

TEST_F(SiteWithLargeGrants, ThreeSkippedStepsInARowMakeACutOfALoneSiteDue)
{
    auto outputs = serve(Tick{});
    outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
    auto held = std::get<Train>(outputs.back()).blocks;
    ASSERT_GE(held.count(), 6);
    auto const next = [&] {
        auto block = held.lowest(1);
        held -= block;
        return block;
    };
    auto const good = next();
    auto const is_cut = [](auto const& list) {
        return !list.empty() && std::holds_alternative<Cut>(list.back());
    };
    EXPECT_FALSE(is_cut(site.on(now, Stepped{good, FractionalSeconds{100}})));
    Ranges bad;
    for (int i = 0; i < 3; ++i) {
        ASSERT_FALSE(is_cut(outputs));
        auto const block = next();
        bad += block;
        outputs = site.on(now, Skipped{block});
    }
    ASSERT_TRUE(is_cut(outputs));
    outputs = site.on(now, CutReady{std::get<Cut>(outputs.back()).op, 1.0, 0});
    EXPECT_FALSE(site.exited());
    EXPECT_EQ(site.status().undecided, std::vector<Ranges>{good + bad});
    EXPECT_TRUE(site.status().skipped.empty());
}

// Every step is skipped at once, and many blocks may be set aside.
class SiteThatSkipsAll : public ScriptedSite {
  protected:
    SiteThatSkipsAll()
        : ScriptedSite([] {
              auto spec = small_run(2000);
              spec.params.max_aside = 1000;
              return spec;
          }())
    {
    }
    std::optional<Input> work(Output const& output) override
    {
        if (now > MonoTime{Seconds{20}}) return std::nullopt;
        if (auto const* load = std::get_if<LoadModel>(&output)) return Loaded{load->op};
        if (auto const* cut = std::get_if<Cut>(&output)) return CutReady{cut->op, 0, 0};
        if (auto const* adopt = std::get_if<Adopt>(&output)) return Adopted{adopt->op};
        auto const* train = std::get_if<Train>(&output);
        if (train == nullptr || train->blocks.empty()) return std::nullopt;
        return Skipped{train->blocks};
    }
};

TEST_F(SiteThatSkipsAll, CommitsThatAtMostOncePerPoll)
{
    auto const begin = now;
    (void)serve(Tick{});
    EXPECT_FALSE(site.exited());
    EXPECT_GT(site.tip()->aside.count(), 0);
    EXPECT_LT(site.tip()->number.value,
              3 + (Seconds{20} - (begin - MonoTime{})) / run.params.poll_run_lone);
}

// The others would merge without what it trains until the end of the round.
TEST_F(SiteWithLargeGrants, SkippedStepsBesideAnotherMemberWaitForTheEndOfTheRound)
{
    (void)serve(Tick{});
    auto const tip = *site.tip();
    Intents intents;
    intents.admit = Admission{{{"B"}, 0x22}, 1'000'000};
    intents.remove = {{tip.members.at(0).id, Removal::silent}};
    auto const joined = next(run, tip, sha256(objects.at(commit_name(tip.number))),
                             {test::member("B", 3, 0x22), 1}, tip.time, {}, intents);
    objects[commit_name(joined->number)] = encode(*joined).bytes;
    site = Site({{{"A"}, 0x33}, run, 0});
    auto outputs = serve(Tick{});
    outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
    ASSERT_EQ(site.status().members.size(), 2U);
    auto held = std::get<Train>(outputs.back()).blocks;
    ASSERT_GE(held.count(), 4);
    for (int i = 0; i < 3; ++i) {
        auto block = held.lowest(1);
        held -= block;
        for (auto const& output : site.on(now, Skipped{block}))
            EXPECT_FALSE(std::holds_alternative<Cut>(output));
    }
}

TEST_F(ScriptedSite, AStoreThatCreatesANameTwiceIsRejected)
{
    creates_twice = true;
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("creates only if absent"));
    EXPECT_FALSE(objects.contains("run.json"));
}

TEST_F(ScriptedSite, ADifferentConfigurationIsRefused)
{
    auto other = run;
    other.seed = 99;
    objects["run.json"] = encode(other).bytes;
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::config);
    EXPECT_THAT(error.message(), HasSubstr("seed"));
}

// Records of another format may have no digest of their own.
TEST_F(ScriptedSite, ARunOfAnotherFormatIsRefusedWithItsReason)
{
    for (char const* bytes : {R"({"format":1,"run":"small"})", R"({"format":2})"}) {
        objects["run.json"] = bytes;
        site = Site({{{"A"}, 0x11}, run, 0});
        auto const error = exit_error(serve(Tick{}));
        EXPECT_EQ(error.code, ExitCode::data);
        EXPECT_THAT(error.message(), HasSubstr("refused record run.json: it has format"));
        EXPECT_THAT(error.message(), HasSubstr("reads format 4 only"));
    }
}

TEST_F(ScriptedSite, TheFirstSiteCreatesTheRunAndJoinsIt)
{
    auto const outputs = serve(Tick{});
    ASSERT_TRUE(std::holds_alternative<LoadModel>(outputs.back()));
    EXPECT_TRUE(objects.contains("run.json"));
    EXPECT_TRUE(objects.contains("commits/00000002.json"));
    EXPECT_EQ(site.status().state, ProtocolState::base);
    EXPECT_EQ(site.status().member, (MemberId{"A.00000011.2"}));
    EXPECT_EQ(site.status().held.count(), 1) << "unknown rate: one quantum";
}

TEST_F(ScriptedSite, AnEditedRecordIsReportedWithNumberAndRule)
{
    (void)serve(Tick{});
    auto const bytes = objects.at("commits/00000002.json");
    auto commit = *decode_commit(bytes, "commits/00000002.json");
    commit.number = {3};
    commit.parent = sha256(bytes);
    commit.done += Ranges::between(20, 21);
    objects["commits/00000003.json"] = encode(commit).bytes;
    Site other({{{"B"}, 0x22}, run, 0});
    site = other;
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("refused commit 3"));
    EXPECT_THAT(error.message(), HasSubstr("done must grow by the included ranges"));
}

TEST_F(ScriptedSite, AnAnswerWithoutQuestionThrows)
{
    EXPECT_THROW((void)site.on(now, Missing{7}), std::logic_error);
    auto const outputs = site.on(now, Tick{});
    auto const op = std::get<Create>(outputs.back()).op;
    EXPECT_THROW((void)site.on(now, Missing{op}), std::logic_error)
        << "Missing does not answer a create";
}

TEST_F(ScriptedSite, ASiteStoppedBeforeItJoinsJustExits)
{
    (void)site.on(now, Tick{});
    EXPECT_TRUE(site.on(now, StopRequested{now + Seconds{5}, now + Seconds{5}}).empty());
    EXPECT_FALSE(site.exited()) << "a question is open";
    auto const last = site.on(now, Unknown{1, "lost"});
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(last.back()).code, ExitCode::ok);
}

TEST_F(ScriptedSite, NonFiniteWorkIsAnnouncedWithoutPayloadAndRefused)
{
    auto outputs = serve(Tick{});
    outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
    auto const held = std::get<Train>(outputs.back()).blocks;
    outputs = site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}});
    auto const cut = std::get<Cut>(outputs.back());
    EXPECT_TRUE(cut.leaving);
    EXPECT_TRUE(site.on(now, Stepped{held, FractionalSeconds{1}}).empty())
        << "the step in progress must finish first";
    outputs = serve(CutReady{cut.op, 1.0, 3});
    ASSERT_TRUE(site.exited());
    auto const name = header_name(MemberId{"A.00000011.2"}, {1});
    ASSERT_TRUE(objects.contains(name));
    auto const header = *decode_header(objects.at(name), name);
    EXPECT_EQ(header.nonfinite, 3);
    EXPECT_FALSE(header.delta);
    auto const parent_name = commit_name(site.tip()->number);
    auto const digest = sha256(objects.at(parent_name));
    KnownContribution const known{header, sha256(objects.at(name)), {}};
    auto const decided =
        next(run, *site.tip(), digest, {header.member, 1}, from_unix_ms(1'700'000'100'000),
             std::vector<KnownContribution>{known}, {});
    ASSERT_TRUE(decided);
    EXPECT_EQ(decided->decided.at(0).refused, Refusal::nan);
}

}  // namespace
}  // namespace curtail::protocol
