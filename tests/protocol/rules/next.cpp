// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/next.hpp"
#include "protocol/rules/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/heads.hpp"

namespace curtail::protocol {
namespace {

using test::Chain;
using test::small_run;
using testing::HasSubstr;

TEST_F(Chain, FollowsTheWorkedExample)
{
    auto const a = test::member("A", 2), b = test::member("B", 3), c = test::member("C", 5),
               c2 = test::member("C", 7, 0xabcdef02);
    admit("A");
    EXPECT_EQ(line(), "r1 done - | A 0 [0,8)");
    admit("B");
    EXPECT_EQ(line(), "r1 done - | A 0 [0,8) B 0 [8,16)");
    auto lone = contribution(a, 1, 1, {{0, 4}});
    lone.sha256.reset();
    go({lone});
    EXPECT_EQ(line(), "r2 done [0,4) | A 1 [4,8)+[16,20) B 0 [8,16)");
    EXPECT_TRUE(tip.decided[0].inlined);
    admit("C");
    EXPECT_EQ(line(), "r2 done [0,4) | A 1 [4,8)+[16,20) B 0 [8,16) C 0 [20,28)");
    go({contribution(a, 2, 2, {{4, 8}})});
    EXPECT_EQ(line(), "r3 done [0,8) | A 2 [16,20)+[28,32) B 0 [8,16) missed 1 C 0 [20,28)");
    Intents join;
    join.admit = Admission{{{"C"}, 0xabcdef02}, 1'000'000};
    join.remove[c] = Removal::succeeded;
    go({}, join);
    EXPECT_EQ(line(), "r3 done [0,8) | A 2 [16,20)+[28,32) B 0 [8,16) missed 1 C 0 [20,28)");
    ASSERT_NE(tip.find(c2), nullptr);
    go({contribution(a, 3, 3, {{16, 19}}), contribution(b, 1, 2, {{8, 11}}),
        contribution(b, 2, 3, {{11, 14}}), contribution(c2, 1, 3, {{20, 22}})});
    EXPECT_EQ(line(),
              "r4 done [0,14)+[16,19)+[20,22) | A 3 [19,20)+[28,34) B 2 [14,16)+[34,39) C 1 "
              "[22,28)+[39,40)");
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 3.0F / 11);
    EXPECT_FLOAT_EQ(tip.decided[1].scale, 6.0F / (1.25F * 11));
    EXPECT_FLOAT_EQ(tip.decided[2].scale, 6.0F / 11);
    EXPECT_EQ(tip.decided[1].staleness, 1);
    EXPECT_FALSE(try_next({contribution(c, 1, 2, {{20, 22}}), contribution(b, 1, 2, {{8, 11}})}))
        << "a removed member's header and a repeated header change nothing";
}

TEST_F(Chain, ContributionsAreDecidedInOrderWithoutGaps)
{
    auto const a = test::member("A", 2);
    admit("A");
    EXPECT_FALSE(try_next({contribution(a, 2, 1, {{0, 1}})}));
    go({contribution(a, 2, 1, {{1, 2}}), contribution(a, 1, 1, {{0, 1}})});
    EXPECT_EQ(at(a).seq, Seq{2});
    EXPECT_EQ(tip.done, Ranges::between(0, 2));
}

TEST_F(Chain, TheTokensOfTooManyBlocksDoNotOverflowToZero)
{
    run.params.block_tokens = {2048};  // times 2^53 blocks is 2^64
    auto const a = test::member("A", 2);
    auto known = contribution(a, 1, 1, {{0, 1}});
    known.header.ranges = Ranges::between(0, std::int64_t{1} << 53);
    known.header.tokens = {};
    EXPECT_EQ(refusal(run, tip, Ranges::between(0, 4), known.header), Refusal::bad_tokens);
    EXPECT_FALSE(has_tokens(run, known.header.ranges, Tokens{}));
    EXPECT_TRUE(has_tokens(run, Ranges::between(0, 3), Tokens{6144}));
    EXPECT_FALSE(has_tokens(run, Ranges::between(0, 3), Tokens{6145}));
}

TEST_F(Chain, TheRateOfARefusedHeaderIsIgnored)
{
    auto const a = test::member("A", 2);
    admit("A");
    auto good = contribution(a, 1, 1, {{0, 1}});
    good.header.rate = 3'000'000;
    auto refused = contribution(a, 2, 1, {{1, 2}});
    refused.header.rate = std::int64_t{1} << 52;
    refused.header.tokens = {7};
    go({good, refused});
    EXPECT_EQ(tip.decided.at(1).refused, Refusal::bad_tokens);
    EXPECT_EQ(at(a).rate, 3'000'000);
}

TEST_F(Chain, ReadersRefuseTheRateOfARefusedHeader)
{
    auto const a = test::member("A", 2);
    admit("A");
    admit("B");
    auto const parent = tip;
    auto refused = contribution(a, 1, 1, {{0, 1}});
    refused.header.tokens = {7};
    go({refused});
    auto forged = tip;
    forged.by.member = test::member("B", 3);
    EXPECT_FALSE(check(run, parent, encode(parent).sha256, forged));
    forged.members[0].rate -= 1;  // too little for another grant
    auto const error = check(run, parent, encode(parent).sha256, forged);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("must set its rate itself"));
}

TEST_F(Chain, RefusalsAreRecordedAndFreeTheBlocks)
{
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    auto wrong_run = contribution(a, 1, 1, {{0, 1}});
    wrong_run.header.run = {"other"};
    auto bad_tokens = contribution(a, 1, 1, {{0, 1}});
    bad_tokens.header.tokens = {7};
    auto nan = contribution(a, 1, 1, {{0, 1}});
    nan.header.nonfinite = 1;
    nan.header.delta.reset();
    auto digest = contribution(a, 1, 1, {{0, 1}});
    digest.bad = Refusal::digest;
    auto future = contribution(a, 1, 2, {{0, 1}});
    auto encoding = contribution(a, 1, 1, {{0, 1}});
    encoding.header.encoding = "int8";
    auto other_name = contribution(a, 1, 1, {{0, 1}});
    other_name.header.delta->payload.name = "models/1/x/w0.h5";
    auto const not_held = contribution(a, 1, 1, {{8, 9}});
    std::vector<std::pair<KnownContribution, Refusal>> const cases{
        {wrong_run, Refusal::wrong_run},
        {bad_tokens, Refusal::bad_tokens},
        {nan, Refusal::nan},
        {digest, Refusal::digest},
        {future, Refusal::wrong_run},
        {encoding, Refusal::wrong_run},
        {other_name, Refusal::wrong_run},
        {not_held, Refusal::not_held}};
    for (auto const& [known, reason] : cases) {
        auto const c = try_next({known});
        ASSERT_TRUE(c);
        EXPECT_EQ(c->decided.at(0).refused, reason) << to_text(reason);
        EXPECT_EQ(c->kind, Commit::Kind::roster);
        EXPECT_EQ(c->find(a)->seq, Seq{1});
        EXPECT_TRUE(c->done.empty());
        EXPECT_FALSE(check(run, tip, encode(tip).sha256, *c));
    }
    go({digest});
    EXPECT_TRUE(at(a).held.contains({{0, 1}})) << "a refused block must be free and granted again";
    (void)b;
}

TEST_F(Chain, TooStaleWorkIsRefusedNotSkipped)
{
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    for (std::int64_t round = 1; round <= 3; ++round)
        go({contribution(a, round, round, {{round - 1, round}})});
    auto const c = try_next({contribution(b, 1, 1, {{8, 9}})});
    ASSERT_TRUE(c);
    EXPECT_EQ(c->decided[0].refused, Refusal::stale);
    EXPECT_EQ(c->decided[0].staleness, 3);
    EXPECT_FALSE(try_next({contribution(b, 1, 2, {{8, 9}})})->decided[0].refused);
}

TEST_F(Chain, AMemberLeavesWithItsLastContribution)
{
    auto const a = test::member("A", 2);
    admit("A");
    go({contribution(a, 1, 1, {{0, 2}}), contribution(a, 2, 1, {}, true)});
    EXPECT_TRUE(tip.members.empty());
    EXPECT_EQ(tip.removed, (std::vector<RemovedMember>{{a, Removal::left}}));
    EXPECT_EQ(tip.done, Ranges::between(0, 2));
    admit("B", 1);
    EXPECT_EQ(tip.members[0].held.list()[0].begin, 2) << "its blocks must be free";
}

TEST_F(Chain, LeavingWithoutWorkMakesNoModel)
{
    auto const a = test::member("A", 2);
    admit("A");
    go({contribution(a, 1, 1, {}, true)});
    EXPECT_EQ(tip.kind, Commit::Kind::roster);
    EXPECT_EQ(tip.round, Round{1});
    EXPECT_FALSE(tip.decided[0].refused);
}

TEST_F(Chain, AMemberWithADecidedContributionIsNotRemoved)
{
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    Intents intents;
    intents.remove = {{a, Removal::silent}, {b, Removal::silent}};
    go({contribution(a, 1, 1, {{0, 1}})}, intents);
    EXPECT_NE(tip.find(a), nullptr);
    EXPECT_EQ(tip.find(b), nullptr);
}

TEST_F(Chain, AProcessIsNotAdmittedTwice)
{
    admit("A");
    Intents again;
    again.admit = Admission{{{"A"}, 0xabcdef01}, 0};
    EXPECT_FALSE(try_next({}, again));
}

TEST_F(Chain, GrantsFollowRateAndShareTheTail)
{
    run.params.grant_quantum = 4;
    EXPECT_EQ(grant_target(run, 1000, 0, 0), 4) << "unknown rate: one quantum";
    EXPECT_EQ(grant_target(run, 1000, 1'000'000, 3'000'000), 8) << "two rounds of 4 s at 1 block/s";
    EXPECT_EQ(grant_target(run, 1000, 1'100'000, 3'000'000), 12) << "8.8 rounded up to the quantum";
    EXPECT_EQ(grant_target(run, 12, 1'000'000, 3'000'000), 4) << "a third of the blocks left";
    EXPECT_EQ(grant_target(run, 13, 1'000'000, 3'000'000), 8) << "4.33 rounded up";
    EXPECT_EQ(grant_target(run, 1, 1, 1'000'000'000), 4) << "never less than one quantum";
}

TEST_F(Chain, AHigherRateGetsMoreBlocksByARosterCommit)
{
    auto const a = test::member("A", 2);
    admit("A", 0xabcdef01, 0);
    EXPECT_EQ(at(a).held.count(), 1);
    Intents rate;
    rate.rate = {a, 2'000'000};
    go({}, rate);
    EXPECT_EQ(at(a).held.count(), 16);
    EXPECT_EQ(at(a).rate, 2'000'000);
    EXPECT_FALSE(try_next({}, rate));
}

TEST_F(Chain, TheLastBlockCompletesTheRun)
{
    run = small_run(4);
    tip.terms = terms_of(run);
    auto const a = test::member("A", 2);
    admit("A");
    go({contribution(a, 1, 1, {{0, 4}})});
    EXPECT_TRUE(tip.complete);
    EXPECT_EQ(tip.removed, (std::vector<RemovedMember>{{a, Removal::complete}}));
    EXPECT_FALSE(try_next({}));
}

TEST_F(Chain, ATokenBudgetCompletesTheRunInsideTheData)
{
    run.budget = Tokens{7 * 8 - 3};  // 7 of the 40 blocks
    auto const run_digest = encode(run).sha256;
    tip = genesis(run, run_digest, tip.by, now, tip.model.weights);
    admit("A");
    auto const a = test::member("A", 2);
    EXPECT_EQ(at(a).held, Ranges({{0, 7}})) << "blocks after the budget are never granted";
    go({contribution(a, 1, 1, {{0, 4}})});
    EXPECT_FALSE(tip.complete);
    go({contribution(a, 2, 2, {{4, 7}})});
    EXPECT_TRUE(tip.complete);
    EXPECT_EQ(tip.totals.tokens, Tokens{56});
    tip.complete = false;
    EXPECT_TRUE(check(run, *parent_, encode(*parent_).sha256, tip));
}

TEST_F(Chain, OuterStepNeedsTwoFreshSitesAndEnoughWork)
{
    run.outer.type = tip.terms.outer.type = Outer::Type::nesterov;
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    EXPECT_FALSE(try_next({contribution(a, 1, 1, {{0, 4}})})->outer_step) << "one site";
    EXPECT_TRUE(
        try_next({contribution(a, 1, 1, {{0, 1}}), contribution(b, 1, 1, {{8, 9}})})->outer_step)
        << "2 of 8 possible blocks";
    tip.terms.params.outer_min_permille = 260;
    EXPECT_FALSE(
        try_next({contribution(a, 1, 1, {{0, 1}}), contribution(b, 1, 1, {{8, 9}})})->outer_step);
    EXPECT_TRUE(
        try_next({contribution(a, 1, 1, {{0, 2}}), contribution(b, 1, 1, {{8, 9}})})->outer_step);
    go({contribution(a, 1, 1, {{0, 4}}), contribution(b, 1, 1, {{8, 12}})});
    EXPECT_TRUE(tip.outer.has_value());
    EXPECT_FALSE(
        try_next({contribution(a, 2, 1, {{4, 8}}), contribution(b, 2, 2, {{12, 16}})})->outer_step)
        << "one of them is stale";
}

TEST_F(Chain, AnyChangeOfARecordBreaksARule)
{
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    auto const parent = tip;
    auto const digest = encode(parent).sha256;
    go({contribution(a, 1, 1, {{0, 4}}), contribution(b, 1, 1, {{8, 10}})});
    auto const good = tip;
    auto const caught = [&](char const* what, auto change) {
        auto c = good;
        change(c);
        auto const error = check(run, parent, digest, c);
        ASSERT_TRUE(error) << what;
        EXPECT_THAT(error->message(), HasSubstr("refused commit 4"));
    };
    caught("number", [](Commit& c) { c.parent = sha256("x"); });
    caught("round", [](Commit& c) { ++c.round.value; });
    caught("kind", [](Commit& c) { c.kind = Commit::Kind::roster; });
    caught("tokens", [](Commit& c) { c.totals.tokens += Tokens{1}; });
    caught("steps", [](Commit& c) { ++c.totals.steps; });
    caught("done grows by nothing", [](Commit& c) { c.done += Ranges::between(30, 31); });
    caught("done shrinks", [](Commit& c) { c.done -= Ranges::between(0, 1); });
    caught("held twice", [](Commit& c) { c.members[0].held += Ranges::between(12, 13); });
    caught("held and done", [](Commit& c) { c.members[0].held += Ranges::between(0, 1); });
    caught("block taken from a holding",
           [](Commit& c) { c.members[0].held -= Ranges::between(4, 5); });
    caught("seq", [](Commit& c) { ++c.members[0].seq.value; });
    caught("missed", [](Commit& c) { ++c.members[0].missed; });
    caught("seen", [](Commit& c) { c.members[0].seen += Seconds{1}; });
    caught("since", [](Commit& c) { ++c.members[0].since_round.value; });
    caught("member removed without record", [](Commit& c) { c.members.erase(c.members.begin()); });
    caught("decided member removed", [&](Commit& c) {
        c.members.erase(c.members.begin());
        c.removed.push_back({a, Removal::silent});
    });
    caught("unknown removed", [](Commit& c) {
        c.removed.push_back({test::member("Z", 2), Removal::silent});
    });
    caught("member without admission", [](Commit& c) {
        c.members.push_back({test::member("Z", 3), {"Z"}, {}, {}, 0, {2}, 0, c.time});
    });
    caught("decided out of order", [](Commit& c) { std::swap(c.decided[0], c.decided[1]); });
    caught("decided twice", [](Commit& c) { c.decided.push_back(c.decided[1]); });
    caught("seq skipped", [](Commit& c) { ++c.decided[0].seq.value; });
    caught("counted work refused", [](Commit& c) { c.decided[0].refused = Refusal::nan; });
    caught("scale", [](Commit& c) { c.decided[0].scale = 0.5F; });
    caught("staleness", [](Commit& c) { c.decided[0].staleness = 3; });
    caught("tokens of a contribution", [](Commit& c) { c.decided[0].tokens += Tokens{8}; });
    caught("ranges of a contribution", [](Commit& c) { c.decided[0].ranges = {{1, 5}}; });
    caught("norm", [](Commit& c) { c.norms[0] += 1; });
    caught("recent", [](Commit& c) { c.recent.pop_back(); });
    caught("outer_step", [](Commit& c) { c.outer_step = true; });
    caught("outer", [](Commit& c) { c.outer = OuterRef{}; });
    caught("model of another round", [](Commit& c) { c.model.round = {1}; });
    caught("model without name", [](Commit& c) { c.model.weights = {}; });
    caught("model under another name",
           [](Commit& c) { c.model.weights.name = "models/2/x/w0.h5"; });
    caught("complete", [](Commit& c) { c.complete = true; });
    caught("another run", [](Commit& c) { c.run = {"other"}; });
}

TEST_F(Chain, ACommitKeepsTheNewestPieceOfEachJournal)
{
    auto const a = test::member("A", 2), b = test::member("B", 3);
    admit("A");
    admit("B");
    auto const with = [&](KnownContribution known, JournalHeads heads) {
        known.header.heads = std::move(heads);
        return known;
    };
    auto const head = [](std::int64_t number) {
        return JournalHead{number, sha256(std::to_string(number))};
    };
    Intents intents;
    intents.heads = {{"poller", head(4)}};  // of site A, which writes all commits of this test
    go({with(contribution(a, 1, 1, {{0, 4}}), {{"trainer", head(7)}, {"metrics", head(3)}}),
        with(contribution(b, 1, 1, {{8, 10}}), {{"trainer", head(2)}})},
       intents);
    using Heads = std::map<SiteId, JournalHeads>;
    Heads const first{{{"A"}, {{"metrics", head(3)}, {"poller", head(4)}, {"trainer", head(7)}}},
                      {{"B"}, {{"trainer", head(2)}}}};
    EXPECT_EQ(tip.heads, first);

    // A lost `*.published` makes a site say less, or something else about the same piece.
    auto older = with(contribution(a, 2, 2, {{4, 8}}), {{"trainer", head(6)}});
    older.header.heads["metrics"] = {3, sha256("another")};
    auto refused = with(contribution(b, 2, 2, {{10, 12}}), {{"trainer", head(5)}});
    refused.bad = Refusal::nan;
    go({older, refused});
    auto second = first;
    second[{"B"}]["trainer"] = head(5);
    EXPECT_EQ(tip.heads, second) << "a refused header counts, too";

    auto const digest = encode(tip).sha256;
    auto const good = try_next({contribution(a, 3, 3, {{12, 14}})});
    ASSERT_TRUE(good);
    auto const accepts = [&](auto change) {
        auto c = *good;
        change(c.heads);
        return !check(run, tip, digest, c);
    };
    EXPECT_TRUE(accepts([](Heads&) {}));
    EXPECT_TRUE(accepts([&](Heads& heads) { heads[{"A"}]["trainer"] = head(8); }));
    EXPECT_FALSE(accepts([&](Heads& heads) { heads[{"A"}]["trainer"] = head(6); }));
    EXPECT_FALSE(accepts([](Heads& heads) { heads[{"A"}]["trainer"].sha256 = sha256("x"); }));
    EXPECT_FALSE(accepts([](Heads& heads) { heads[{"A"}].erase("metrics"); }));
    EXPECT_FALSE(accepts([](Heads& heads) { heads.erase({"B"}); }));
}

TEST_F(Chain, HeadsAloneMakeNoCommit)
{
    admit("A");
    Intents intents;
    intents.heads = {{"trainer", {1, sha256("1")}}};
    EXPECT_FALSE(try_next({}, intents));
}

TEST_F(Chain, ACommitHasNoMoreHeadsThanARecordCanHold)
{
    std::map<SiteId, JournalHeads> heads;
    for (std::size_t i = 0; i < heads_limit; ++i)
        raise_heads(heads, {"S" + std::to_string(i / 5)}, {{std::to_string(i % 5), {1, {}}}});
    auto const full = heads;
    raise_heads(heads, {"another"}, {{"trainer", {1, {}}}});
    EXPECT_EQ(heads, full);
    raise_heads(heads, {"S0"}, {{"0", {2, {}}}});
    EXPECT_EQ(heads[{"S0"}]["0"].number, 2) << "the known ones still rise";
}

TEST_F(Chain, ARosterCommitRepeatsTheModel)
{
    admit("A");
    auto const parent = tip;
    admit("B");
    auto changed = tip;
    changed.model.weights.sha256 = sha256("x");
    EXPECT_THAT(check(run, parent, encode(parent).sha256, changed)->message(),
                HasSubstr("repeat the model"));
}

TEST_F(Chain, AGrantHasFewRanges)
{
    run.limits.held_ranges = 4;
    tip.done = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}};
    tip.totals.tokens = tip.done.count() * run.params.block_tokens;
    admit("A");
    EXPECT_EQ(at(test::member("A", 2)).held, (Ranges{{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
    admit("B");
    EXPECT_EQ(at(test::member("B", 3)).held, (Ranges{{9, 17}})) << "two members share the limit";
    EXPECT_EQ(at(test::member("A", 2)).held.list().size(), 4U) << "a member keeps what it holds";
    admit("C");
    EXPECT_EQ(at(test::member("C", 4)).held, (Ranges{{17, 25}}));
}

TEST_F(Chain, AFullTableAdmitsNobody)
{
    run.limits.members = 1;
    admit("A");
    Intents intents;
    intents.admit = Admission{{{"B"}, 7}, 0};
    EXPECT_FALSE(try_next({}, intents));
    intents.remove[test::member("A", 2)] = Removal::silent;
    go({}, intents);
    EXPECT_EQ(tip.members.size(), 1U);
}

}  // namespace
}  // namespace curtail::protocol
