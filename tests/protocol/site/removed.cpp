// SPDX-License-Identifier: Apache-2.0
// Work of the own member that no commit includes any more: the process says so, and never exits
// with 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/rules/next.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol {
namespace {

using test::member;
using test::part;
using test::ScriptedSiteBesideB;
using test::small_run;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A has trained two blocks, and stores its weights to commit them.
class RemovedSite : public ScriptedSiteBesideB {
  protected:
    explicit RemovedSite(std::int64_t blocks = 2000) : ScriptedSiteBesideB(quantum_of_four(blocks))
    {
    }
    void SetUp() override
    {
        auto const outputs = serve(Tick{});
        ASSERT_TRUE(!outputs.empty() && std::holds_alternative<StoreModel>(outputs.back()));
        store = std::get<StoreModel>(outputs.back());
    }
    std::vector<Output> stored() { return serve(Stored{store.op, part("w0", store.place.name)}); }
    static RunSpec quantum_of_four(std::int64_t blocks)
    {
        auto run = small_run(blocks, {{"A"}, {"B"}, {"C"}});
        run.params.grant_quantum = 4;
        return run;
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* note = std::get_if<Note>(&output))
            notes.push_back(note->type + json::to_string(note->details));
        if (auto const* overwrite = std::get_if<Overwrite>(&output))
            if (overwrite->name == status_name({"A"})) last_status = overwrite->bytes;
        auto const* load = std::get_if<LoadModel>(&output);
        if (load != nullptr && loads) return Loaded{load->op};
        if (auto const* cut = std::get_if<Cut>(&output)) return CutReady{cut->op, 1.0, 0};
        auto const* train = std::get_if<Train>(&output);
        if (train == nullptr || trains) return std::nullopt;
        trains = true;
        return Stepped{train->blocks.lowest(2), FractionalSeconds{0.1}};
    }
    std::vector<Output> leave()
    {
        (void)site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}});
        auto outputs = serve(Tick{});
        for (int i = 0; i < 50 && !site.exited(); ++i) {
            auto const* delta =
                outputs.empty() ? nullptr : std::get_if<StoreDelta>(&outputs.back());
            outputs =
                serve(delta == nullptr ? Input{Tick{}}
                                       : Input{Stored{delta->op, part("d0", delta->place.name)}});
        }
        return outputs;
    }
    // The notes of a type.
    [[nodiscard]] std::vector<std::string> all(std::string const& type) const
    {
        std::vector<std::string> found;
        for (auto const& note : notes)
            if (note.starts_with(type + "{")) found.push_back(note);
        return found;
    }
    void remove(Removal why)
    {
        Intents intents;
        intents.remove = {{a, why}};
        if (why == Removal::succeeded) intents.admit = Admission{{{"A"}, 0x99}, 1'000'000};
        (void)append({}, intents, noon);
    }
    // The first contribution of a member: two of its blocks.
    [[nodiscard]] Header contribution(MemberId const& id) const
    {
        Header header;
        header.run = run.run;
        header.member = id;
        header.seq = {1};
        header.base_round = newest().round;
        header.ranges = newest().find(id)->held.lowest(2);
        header.tokens = two_blocks();
        header.steps = 1;
        header.delta = {part("d0", delta_name(header.base_round, id, header.seq)), 1.0};
        return header;
    }
    void decide(MemberId const& id, std::optional<Refusal> refusal)
    {
        auto const header = contribution(id);
        (void)append({{header, encode(header).sha256, refusal}}, {}, noon);
    }
    [[nodiscard]] Tokens two_blocks() const { return 2 * run.params.block_tokens; }

    static constexpr Time noon = from_unix_ms(1'700'000'005'000);
    StoreModel store;
    bool trains{false};
    bool loads{true};
    std::vector<std::string> notes;
    std::string last_status;
};

TEST_F(RemovedSite, SaysWhatIsLostAndJoinsAgain)
{
    remove(Removal::silent);
    (void)stored();
    EXPECT_FALSE(site.exited());
    EXPECT_THAT(all("removed"), ElementsAre(HasSubstr(R"("why":"silent","tokens":)" +
                                                      std::to_string(two_blocks().value) + "}")));
    EXPECT_NE(site.status().member, a) << "it is a new member";
}

TEST_F(RemovedSite, SaysThatTheStepIsLostThatRanMeanwhile)
{
    auto const blocks = newest().find(a)->held;
    remove(Removal::silent);
    loads = false;
    (void)stored();
    (void)serve(Stepped{blocks.lowest(1), FractionalSeconds{0.1}});
    EXPECT_THAT(all("lost"), ElementsAre(R"(lost{"member":")" + a.value + R"(","tokens":)" +
                                         std::to_string(run.params.block_tokens.value) + "}"));
}

TEST_F(RemovedSite, ExitsWith69IfItStops)
{
    remove(Removal::silent);
    (void)site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}});
    auto const error = exit_error(stored());
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("this site was removed from the run: " +
                                           std::to_string(two_blocks().value) + " tokens"));
    EXPECT_EQ(all("removed").size(), 1U);
    EXPECT_EQ(all("lost").size(), 0U) << "the same loss";
}

TEST_F(RemovedSite, ExitsWith75IfAnotherProcessOfItsSiteHasJoined)
{
    remove(Removal::succeeded);
    auto const error = exit_error(stored());
    EXPECT_EQ(error.code, ExitCode::temporary);
    EXPECT_THAT(error.message(), HasSubstr("another process of this site has joined the run: " +
                                           std::to_string(two_blocks().value) + " tokens"));
    EXPECT_THAT(all("removed"), ElementsAre(HasSubstr(R"("why":"succeeded")")));
}

// It was suspended for long, and is asked to stop before it reads the chain.
TEST_F(RemovedSite, ReadsTheChainBeforeItLeaves)
{
    remove(Removal::silent);
    (void)site.on(now, StopRequested{now, now + Seconds{60}});
    auto const error = exit_error(serve(Unavailable{store.op, "time-out"}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("this site was removed from the run"));
}

TEST_F(RemovedSite, SaysWhatACommitRefuses)
{
    decide(a, Refusal::norm);
    (void)stored();
    EXPECT_THAT(all("refused"), ElementsAre(HasSubstr(R"("why":"norm","tokens":)" +
                                                      std::to_string(two_blocks().value) + "}")));
}

// Other commits and memberships may follow before the process exits.
TEST_F(RemovedSite, ExitsWith69AlsoAfterItHasJoinedAgain)
{
    remove(Removal::silent);
    (void)stored();
    EXPECT_NE(site.status().member, a);
    auto const error = exit_error(leave());
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(
        error.message(),
        HasSubstr("this process has lost work: " + std::to_string(two_blocks().value) + " tokens"));
}

TEST_F(RemovedSite, ExitsWith69AfterARefusal)
{
    decide(a, Refusal::norm);
    (void)stored();
    EXPECT_EQ(exit_error(leave()).code, ExitCode::unavailable);
}

TEST_F(RemovedSite, SaysThatTheStepIsLostThatRanWhenTheProcessDecidedToExit)
{
    auto const blocks = newest().find(a)->held;
    remove(Removal::succeeded);
    (void)stored();
    ASSERT_TRUE(site.exited());
    (void)serve(Stepped{blocks.lowest(1), FractionalSeconds{0.1}});
    EXPECT_THAT(all("lost"), ElementsAre(R"(lost{"member":")" + a.value + R"(","tokens":)" +
                                         std::to_string(run.params.block_tokens.value) + "}"));
}

// Nobody else may know of this commit when the next process starts.
TEST_F(RemovedSite, TellsTheNewestCommitInItsStatusWhenItLeaves)
{
    (void)stored();
    (void)leave();
    auto const status = decode_status(last_status, status_name({"A"}));
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(status->tip, newest().number);
}

// The run ends with these two blocks, and another process writes its last commit.
class RunOfTwoBlocks : public RemovedSite {
  protected:
    RunOfTwoBlocks() : RemovedSite(2) {}
};

TEST_F(RunOfTwoBlocks, ThatTheLastCommitIncludesLosesNothing)
{
    decide(a, std::nullopt);
    ASSERT_TRUE(newest().complete);
    EXPECT_EQ(exit_error(stored()).code, ExitCode::ok);
    EXPECT_THAT(notes, Not(Contains(HasSubstr("lost"))));
}

TEST_F(RunOfTwoBlocks, ThatAnotherSiteHasTrainedAgainAreLost)
{
    remove(Removal::silent);
    Intents intents;
    intents.admit = Admission{{{"C"}, 0x33}, 1'000'000};
    auto const c = append({}, intents, noon).members.back().id;
    decide(c, std::nullopt);
    ASSERT_TRUE(newest().complete);
    EXPECT_EQ(exit_error(stored()).code, ExitCode::unavailable);
    EXPECT_THAT(all("removed"), ElementsAre(HasSubstr(R"("why":"silent","tokens":)" +
                                                      std::to_string(two_blocks().value) + "}")));
    EXPECT_EQ(all("lost").size(), 0U) << "the same loss";
}

}  // namespace
}  // namespace curtail::protocol
