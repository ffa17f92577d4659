// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/sweep.hpp"

#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "protocol/records/names.hpp"

namespace curtail::upkeep {
namespace {

using protocol::test::member;

Time const now = from_unix_ms(1'795'270'000'000);
Time const old = now - std::chrono::hours(24);

// A chain of ten rounds. Site A is a member all the time. B joins in round 2, contributes once in
// each round and leaves in round 6. C joins in round 8 and is removed as silent in round 9. Each
// round has a roster commit too.
class Sweep : public testing::Test {
  protected:
    Sweep()
    {
        protocol::Commit commit;
        commit.round = {1};
        for (std::int64_t round = 1; round <= 10; ++round) {
            commit.round = {round};
            commit.kind =
                round == 1 ? protocol::Commit::Kind::genesis : protocol::Commit::Kind::merge;
            commit.model = {{round}, {"w0", model(round), 1, {}}};
            // Momentum from round 3 on; the merges of rounds 9 and 10 take no outer step.
            if (round >= 3 && round <= 8)
                commit.outer = protocol::OuterRef{{}, {"m0", momentum(round), 1, {}}};
            commit.members.clear();
            commit.decided.clear();
            if (round > 1) {
                commit.members.push_back(row(a, round - 1));
                commit.decided.push_back(included(a, round - 1));
            }
            if (round > 2 && round <= 6) {
                commit.decided.push_back(included(b, round - 2));
                if (round == 5) commit.decided.back().refused = protocol::Refusal::nan;
            }
            if (round >= 2 && round < 6) commit.members.push_back(row(b, round - 2));
            if (round == 8) commit.members.push_back(row(c, 0));
            append(commit);
            commit.kind = protocol::Commit::Kind::roster;
            commit.decided.clear();
            append(commit);
        }
    }
    static protocol::Member row(MemberId const& id, std::int64_t seq)
    {
        protocol::Member member;
        member.id = id;
        member.seq = {seq};
        return member;
    }
    static protocol::ContributionDecision included(MemberId const& id, std::int64_t seq)
    {
        protocol::ContributionDecision decided;
        decided.member = id;
        decided.seq = {seq};
        return decided;
    }
    void append(protocol::Commit& commit)
    {
        ++commit.number.value;
        needed_.add(commit);
    }
    [[nodiscard]] static std::string model(std::int64_t round, std::int64_t attempt = 1)
    {
        return protocol::model_name({round}, a, attempt, "w0");
    }
    [[nodiscard]] static std::string momentum(std::int64_t round)
    {
        return protocol::model_name({round}, a, 1, "m0");
    }
    [[nodiscard]] static std::string delta(std::int64_t base, MemberId const& of, std::int64_t seq)
    {
        return protocol::delta_name({base}, of, {seq});
    }
    [[nodiscard]] SweepReason reason(std::string const& name, Time modified = old) const
    {
        return decide(needed_, {name, {1}, modified}, now);
    }

    static inline MemberId const a = member("A", 2);
    static inline MemberId const b = member("B", 3);
    static inline MemberId const c = member("C", 16);
    static protocol::Params params(std::int64_t keep_models = 3, std::int64_t milestone_every = 4)
    {
        protocol::Params params;
        params.keep_models = keep_models;
        params.milestone_every = milestone_every;
        return params;
    }
    NeededPayloads needed_{params()};
};

TEST_F(Sweep, KeepsTheNewestModelsAndMilestonesAndDeletesOtherModels)
{
    for (std::int64_t round = 1; round <= 10; ++round) {
        bool const kept = round >= 8 || round == 4;
        EXPECT_EQ(reason(model(round)),
                  kept ? SweepReason::named_model : SweepReason::expired_model)
            << round;
    }
}

TEST_F(Sweep, KeepsMomentumAsLongAsAKeptCommitNamesIt)
{
    for (std::int64_t round = 3; round <= 7; ++round)
        EXPECT_EQ(reason(momentum(round)), SweepReason::expired_model)
            << "also that of a milestone";
    EXPECT_EQ(reason(momentum(8)), SweepReason::named_model)
        << "the momentum of rounds 9 and 10 too";
}

TEST_F(Sweep, DeletesAModelThatLostOnceItsRoundIsDecided)
{
    EXPECT_EQ(reason(model(2, 9)), SweepReason::unused_model);
    EXPECT_EQ(reason(model(4, 9)), SweepReason::unused_model) << "the milestone is another attempt";
    EXPECT_EQ(reason(model(10, 9)), SweepReason::unused_model);
    EXPECT_EQ(reason(protocol::model_name({10}, member("X", 0), 1, "w0")),
              SweepReason::unused_model);
    EXPECT_EQ(reason(model(11)), SweepReason::future_model);
    EXPECT_EQ(reason(model(12)), SweepReason::future_model);
    EXPECT_EQ(reason(model(999'999'999'999'999)), SweepReason::future_model);
}

TEST_F(Sweep, DeletesADeltaThatWasDecidedLongAgo)
{
    // A's contribution n was decided in round n + 1.
    for (std::int64_t seq = 1; seq <= 6; ++seq)
        EXPECT_EQ(reason(delta(seq, a, seq)), SweepReason::expired_delta) << seq;
    for (std::int64_t seq = 7; seq <= 9; ++seq)
        EXPECT_EQ(reason(delta(seq, a, seq)), SweepReason::recent_delta) << seq;
    EXPECT_EQ(reason(delta(4, b, 3)), SweepReason::expired_delta) << "refused";
}

TEST_F(Sweep, NeverDeletesADeltaThatItsMemberMayStillContribute)
{
    for (std::int64_t const seq : {10L, 11L, 12L, 1000L})
        for (std::int64_t const base : {1L, 9L, 10L, 99L})
            EXPECT_EQ(reason(delta(base, a, seq)), SweepReason::pending_delta);
}

TEST_F(Sweep, DeletesTheDeltasOfAMemberThatLeftLongAgo)
{
    EXPECT_EQ(reason(delta(4, b, 4)), SweepReason::expired_delta);
    EXPECT_EQ(reason(delta(6, b, 5)), SweepReason::delta_of_leaver);
    EXPECT_EQ(reason(delta(8, c, 1)), SweepReason::recent_leaver);
}

TEST_F(Sweep, KeepsTheDeltasOfAProcessThatNoCommitHasAdmitted)
{
    EXPECT_EQ(reason(delta(3, member("B", 4), 1)), SweepReason::unknown_member);
    EXPECT_EQ(reason(delta(3, member("D", 0), 1)), SweepReason::unknown_member);
    EXPECT_EQ(reason(delta(3, member("D", 9'999'999), 1)), SweepReason::unknown_member);
}

TEST_F(Sweep, KeepsWhatIsYounger)
{
    auto const almost = old + Millis{1};
    for (auto const& name : {model(1), model(2, 9), delta(1, a, 1), delta(6, b, 5)}) {
        EXPECT_TRUE(is_deletion(reason(name))) << name;
        EXPECT_EQ(reason(name, almost), SweepReason::young) << name;
        EXPECT_EQ(reason(name, now + Seconds{60}), SweepReason::young)
            << "from the future: " << name;
        EXPECT_EQ(reason(name, Time::max()), SweepReason::young) << name;
        EXPECT_TRUE(is_deletion(reason(name, from_unix_ms(0)))) << name;
        EXPECT_TRUE(is_deletion(reason(name, Time::min()))) << name;
    }
    EXPECT_EQ(reason(model(10), almost), SweepReason::named_model)
        << "age does not hide the reason";
    EXPECT_EQ(decide(needed_, {model(1), {1}, now - Seconds{5}}, now, {Seconds{5}}),
              SweepReason::expired_model);
}

TEST_F(Sweep, DeletesNothingButPayloads)
{
    for (std::string const name : {"run.json",
                                   "commits/00000001.json",
                                   "contrib/A.abcdef01.2/1.json",
                                   "merge/1/1.json",
                                   "probe/A.abcdef01-1",
                                   "status/A.json",
                                   "models",
                                   "models/1",
                                   "models/1/x",
                                   "models/01/A.abcdef01.2-1/w0.h5",
                                   "models/1/A.abcdef01.2-1/../../run.json",
                                   "models/1/A.abcdef01.2-1/x0.h5",
                                   "deltas/1/A.abcdef01.2/1/d0.h5\n",
                                   "",
                                   "\x1b[2J",
                                   "repair/1/1.json",
                                   "amendments/1.json",
                                   "journal/A/poller/00000001.jsonl",
                                   "../other/models/1/A.abcdef01.2-1/w0.h5",
                                   "/etc/passwd"})
        EXPECT_EQ(reason(name), SweepReason::not_a_payload) << name;
}

TEST_F(Sweep, EndsLeftoversOfThatAge)
{
    EXPECT_EQ(decide_leftover({"any", {0}, old}, now), SweepReason::old_leftover);
    EXPECT_EQ(decide_leftover({"any", {0}, old + Millis{1}}, now), SweepReason::young);
    EXPECT_EQ(decide_leftover({"any", {0}, now + Seconds{1}}, now), SweepReason::young);
}

TEST_F(Sweep, WithoutACommitDeletesNoModelAndNoDelta)
{
    NeededPayloads const empty(params());
    EXPECT_EQ(decide(empty, {model(1), {1}, old}, now), SweepReason::future_model);
    EXPECT_EQ(decide(empty, {delta(1, a, 1), {1}, old}, now), SweepReason::unknown_member);
}

TEST_F(Sweep, WithMilestonesOffOnlyTheNewestModelsStay)
{
    NeededPayloads needed(params(1, 0));
    protocol::Commit commit;
    for (std::int64_t round = 1; round <= 5; ++round) {
        commit.number = {round};
        commit.round = {round};
        commit.model = {{round}, {"w0", model(round), 1, {}}};
        needed.add(commit);
    }
    for (std::int64_t round = 1; round <= 5; ++round)
        EXPECT_EQ(decide(needed, {model(round), {1}, old}, now),
                  round == 5 ? SweepReason::named_model : SweepReason::expired_model);
}

TEST_F(Sweep, CommitsMustBeAddedInOrder)
{
    NeededPayloads needed(params());
    protocol::Commit commit;
    commit.number = {2};
    EXPECT_THROW(needed.add(commit), std::logic_error);
    commit.number = {1};
    needed.add(commit);
    EXPECT_THROW(needed.add(commit), std::logic_error);
}

TEST_F(Sweep, EveryReasonHasWords)
{
    for (int i = 0; i <= static_cast<int>(SweepReason::not_a_payload); ++i) {
        EXPECT_FALSE(to_text(SweepReason{i}).empty());
        EXPECT_FALSE(to_word(SweepReason{i}).empty());
    }
}

}  // namespace
}  // namespace curtail::upkeep
