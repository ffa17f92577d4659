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
        ElementsAre("params.round_time_ms is 3000 in the run's terms and 5000 in this site's "
                    "configuration",
                    HasSubstr("tokens")));
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
