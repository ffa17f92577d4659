// SPDX-License-Identifier: Apache-2.0
// Amendments in the chain: which terms govern which commit.
#include <gmock/gmock.h>

#include "protocol/records/terms.hpp"
#include "protocol/rules/chain.hpp"
#include "protocol/site/amendments.hpp"

namespace curtail::protocol {
namespace {

using test::Chain;
using testing::ElementsAre;
using testing::HasSubstr;

class Amendments : public Chain {
  protected:
    MemberId const a{test::member("A", 2)};
    [[nodiscard]] Terms terms() const { return tip.terms; }
    [[nodiscard]] std::string refused(Commit const& commit) const
    {
        auto const error = check(run, tip, encode(tip).sha256, commit);
        return error ? error->message() : "";
    }
};

TEST_F(Amendments, GovernTheCommitAfterTheOneThatTakesThemIn)
{
    auto shorter = terms();
    shorter.params.round_time = Seconds{2};
    amend(shorter);
    EXPECT_EQ(tip.amended->number, 1);
    EXPECT_EQ(tip.kind, Commit::Kind::roster);
    admit("A");
    EXPECT_EQ(tip.members.at(0).held, (Ranges{{0, 4}}))
        << "two rounds of 2 s at one block a second";
}

TEST_F(Amendments, AddAndRetireSites)
{
    Intents join;
    join.admit = Admission{{{"D"}, 1}, 0};
    EXPECT_FALSE(try_next({}, join));
    auto more = terms();
    more.sites.push_back({"D"});
    amend(more);
    admit("D");
    auto fewer = terms();
    fewer.sites = {{"A"}};
    amend(fewer);
    EXPECT_EQ(tip.members.size(), 1U) << "a member of a retired site leaves by itself";
    join.admit = Admission{{{"B"}, 1}, 0};
    EXPECT_FALSE(try_next({}, join));
}

TEST_F(Amendments, ABudgetThatIsReachedCompletesTheRun)
{
    admit("A");
    go({contribution(a, 1, 1, {{0, 8}}, true)});
    auto short_run = terms();
    short_run.budget = 8 * run.params.block_tokens;
    amend(short_run);
    EXPECT_FALSE(tip.complete);
    go({});
    EXPECT_TRUE(tip.complete);
}

TEST_F(Amendments, ABudgetBelowWorkInProgressIsVoid)
{
    admit("A");
    auto too_short = terms();
    too_short.budget = 4 * run.params.block_tokens;
    auto const before = terms();
    amend(too_short);
    EXPECT_EQ(tip.amended->number, 1);
    EXPECT_EQ(tip.terms, before);
}

TEST_F(Amendments, AnUnreadableOneKeepsTheTerms)
{
    Intents intents;
    intents.amend = NextAmendment{{1, sha256("damaged")}, std::nullopt};
    auto const before = terms();
    go({}, intents);
    EXPECT_EQ(tip.amended, (AmendmentRef{1, sha256("damaged")}));
    EXPECT_EQ(tip.terms, before);
}

TEST_F(Amendments, AreTakenInOneAfterTheOther)
{
    Intents intents;
    intents.amend = NextAmendment{{2, sha256("second")}, std::nullopt};
    EXPECT_FALSE(try_next({}, intents));
}

TEST_F(Amendments, WaitForARosterCommit)
{
    admit("A");
    Intents intents;
    intents.amend = NextAmendment{{1, sha256("first")}, std::nullopt};
    go({contribution(a, 1, 1, {{0, 1}})}, intents);
    EXPECT_EQ(tip.kind, Commit::Kind::merge);
    EXPECT_FALSE(tip.amended);
}

TEST_F(Amendments, CanForgetTheMomentum)
{
    run.outer.type = Outer::Type::nesterov;
    tip.terms.outer.type = Outer::Type::nesterov;
    run.params.outer_min_permille = tip.terms.params.outer_min_permille = 0;
    admit("A");
    admit("B");
    go({contribution(a, 1, 1, {{0, 1}}), contribution(test::member("B", 3), 1, 1, {{8, 9}})});
    ASSERT_TRUE(tip.outer);
    amend(terms(), true);
    EXPECT_FALSE(tip.outer);
}

TEST_F(Amendments, ChangeOnlyWhatTheyState)
{
    auto const older = terms();
    auto faster = older;
    faster.params.gather_time = Seconds{1};
    amend(faster);
    auto fewer = older;
    fewer.sites = {{"A"}, {"B"}};
    Amendment late;
    late.run = run.run;
    late.number = 2;
    late.base = tip.number;
    late.changes = changes(older, fewer);
    EXPECT_THAT(late.changes, ElementsAre(TermChange{"sites.C", true, {}}));
    auto const after = amended(run, tip, late);
    ASSERT_TRUE(after) << after.error();
    EXPECT_EQ(after->params.gather_time, Seconds{1});
    EXPECT_EQ(after->sites.size(), 2U);
}

TEST_F(Amendments, AreVoidIfTheyWereMadeOnOtherValues)
{
    auto const before = terms();
    auto wanted = before;
    wanted.params.gather_time = Seconds{1};
    Amendment late;
    late.run = run.run;
    late.base = tip.number;
    late.changes = changes(before, wanted);
    EXPECT_TRUE(amended(run, tip, late));
    wanted.params.gather_time = Seconds{2};
    amend(wanted);
    auto const after = amended(run, tip, late);
    ASSERT_FALSE(after);
    EXPECT_THAT(after.error(), HasSubstr("made when rounds.gather_time_s was"));
    late.base = tip.number.next();
    EXPECT_THAT(amended(run, tip, late).error(), HasSubstr("which does not exist"));
}

// No name has a meaning of its own.
TEST_F(Amendments, RetireASiteWithAnyName)
{
    for (auto const* name : {"any", "A", "sites", "params"}) {
        Amendment amendment;
        amendment.run = run.run;
        amendment.number = 1;
        amendment.base = {1};
        amendment.changes = {{std::string("sites.") + name, true, nullptr}};
        auto const encoded = encode_if_valid(amendment);
        EXPECT_TRUE(encoded) << name;
    }
}

// A budget that changes while the learning rates fall would make them jump.
TEST_F(Amendments, KeepTheBudgetOnceTheLearningRatesFall)
{
    run.optimizer.batch_tokens = run.params.block_tokens;
    run.budget = tip.terms.budget = 20 * run.params.block_tokens;  // they fall after 12 blocks
    admit("A");
    go({contribution(a, 1, 1, {{0, 8}})});
    auto longer = terms();
    longer.budget = 30 * run.params.block_tokens;  // now they fall after 18 blocks
    amend(longer);
    EXPECT_EQ(terms(), longer);
    EXPECT_EQ(in_force(run, tip).schedule(), *longer.budget);
    go({contribution(a, 2, 2, {{8, 16}})});
    go({contribution(a, 3, 3, {{16, 19}})});
    auto const before = terms();
    auto longest = before;
    longest.budget = 40 * run.params.block_tokens;
    amend(longest);
    EXPECT_EQ(terms(), before);
    Amendment a_change;
    a_change.run = run.run;
    a_change.changes = changes(before, longest);
    EXPECT_THAT(amended(run, tip, a_change).error(), HasSubstr("learning rates already fall"));
    run.optimizer.schedule = Tokens{1000};
    EXPECT_TRUE(amended(run, tip, a_change)) << "a stated schedule does not follow the budget";
}

TEST_F(Amendments, ReadersRefuseTermsThatNoAmendmentSet)
{
    Intents join;
    join.admit = Admission{{{"A"}, 1}, 1'000'000};
    auto c = *try_next({}, join);
    c.terms.params.keep_models = 7;
    EXPECT_THAT(refused(c), HasSubstr("terms must stay as they are"));
    c.amended = AmendmentRef{2, sha256("x")};
    EXPECT_THAT(refused(c), HasSubstr("one amendment after the other"));
    c.amended = AmendmentRef{1, sha256("x")};
    EXPECT_EQ(refused(c), "");
    c.terms.budget = Tokens{1};
    EXPECT_THAT(refused(c), HasSubstr("its budget ends before blocks"));
}

TEST(Terms, DifferencesNameTheKeysAndBothValues)
{
    auto const run = test::small_run();
    auto const stored = terms_of(run);
    auto ours = stored;
    EXPECT_TRUE(differences(stored, ours).empty());
    ours.params.round_time = Seconds{5};
    ours.budget = Tokens{80};
    ours.sites = {{"Z"}};
    EXPECT_THAT(
        differences(stored, ours),
        ElementsAre(
            "rounds.round_time_s is 3 in the run's terms and 5 in this site's configuration",
            "training.tokens is absent in the run's terms and 80 in this site's "
            "configuration"));
}

TEST_F(Amendments, AreVoidOnlyIfSixReadsGiveTheSameInvalidBytes)
{
    site::Amendments amendments;
    MonoTime at{};
    auto const read = [&](std::string const& bytes) {
        at += Seconds{10};
        return amendments.take(bytes, tip, Digest{}, at);
    };
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(read("{}"));
    EXPECT_FALSE(read("{")) << "no object has this digest";
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(read("{}"));
    auto const taken = read("{}");
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->ref.sha256, sha256("{}"));
    EXPECT_FALSE(taken->amendment);
}

}  // namespace
}  // namespace curtail::protocol
