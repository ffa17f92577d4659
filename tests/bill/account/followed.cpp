// SPDX-License-Identifier: Apache-2.0
// The newest held-out loss in the journals of the sites, and when to warn about it.
#include "bill/account/followed.hpp"

#include <gmock/gmock.h>

namespace curtail::account {
namespace {

using runlog::HeldOutLine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The commit with number n made the model of round n / 2.
HeldOutLine line(std::int64_t commit, std::optional<double> loss)
{
    HeldOutLine l;
    l.commit = {commit};
    l.round = {commit / 2};
    l.loss = loss;
    l.tokens = Tokens{40};
    return l;
}

HeldOutLine deleted(std::int64_t commit)
{
    auto l = line(commit, {});
    l.missing = runlog::model_deleted;
    return l;
}

std::vector<FollowedModel> at_one_site(std::vector<HeldOutLine> const& lines)
{
    return followed_models({{SiteId{"A"}, lines}}, {100});
}

std::vector<std::string> warnings(std::vector<HeldOutLine> const& lines, std::int64_t newest = 12)
{
    auto const state = followed_state(at_one_site(lines), {newest}, {newest / 2});
    return state ? followed_warnings(*state, {.rise_nats = 0.1, .behind_models = 3})
                 : std::vector<std::string>{"no state"};
}

TEST(Followed, EachModelHasOneEntryInOrder)
{
    auto const models = followed_models({{SiteId{"A"}, {line(6, 3), deleted(4), line(6, 9)}},
                                         {SiteId{"B"}, {line(6, 4), line(4, 5), line(9, 1)}}},
                                        {8});
    EXPECT_THAT(models,
                ElementsAre(FollowedModel{{"B"}, line(4, 5)}, FollowedModel{{"A"}, line(6, 9)}));
}

TEST(Followed, ALineOfAnEarlierRunGivesWayToALaterLine)
{
    auto earlier = line(6, 3);
    earlier.model = sha256("the model of an earlier run");
    EXPECT_THAT(at_one_site({earlier, line(6, 9)}), ElementsAre(FollowedModel{{"A"}, line(6, 9)}));
    EXPECT_THAT(at_one_site({earlier, deleted(6)}), ElementsAre(FollowedModel{{"A"}, deleted(6)}));
}

TEST(Followed, AnEvaluationStaysWhenItsModelIsDeletedLater)
{
    EXPECT_THAT(at_one_site({line(6, 3), deleted(6)}),
                ElementsAre(FollowedModel{{"A"}, line(6, 3)}));
    EXPECT_THAT(at_one_site({deleted(6), line(6, 3)}),
                ElementsAre(FollowedModel{{"A"}, line(6, 3)}));
}

TEST(Followed, StateIsThatOfTheNewestEvaluatedModel)
{
    auto const models = at_one_site({line(2, 5), line(4, 4), line(6, 4.5), deleted(8)});
    auto const state = followed_state(models, {13}, {6}).value();
    EXPECT_EQ(state.newest.line, line(6, 4.5));
    EXPECT_EQ(state.lowest->line, line(4, 4));
    EXPECT_EQ(state.rise(), 0.5);
    EXPECT_EQ(state.behind_models, 3);
    EXPECT_EQ(state.behind_commits, 7);
    EXPECT_EQ(state.missing_models, 1);
    EXPECT_FALSE(followed_state({}, {13}, {6}));
    EXPECT_FALSE(followed_state(at_one_site({deleted(4)}), {13}, {6}));
}

TEST(Followed, ARiseBeyondTheBoundIsAWarning)
{
    EXPECT_THAT(warnings({line(10, 4), line(12, 4.09)}), IsEmpty());
    EXPECT_THAT(
        warnings({line(6, 3.5), line(10, 4), line(12, 4.09)}),
        ElementsAre(HasSubstr("of commit 12 is 0.590 nats per token above that of commit 6, "
                              "the lowest before it (bound: 0.1)")));
    EXPECT_THAT(warnings({line(12, 9)}), IsEmpty()) << "there is nothing to compare with";
}

TEST(Followed, LossesOnOtherDataAreNotCompared)
{
    auto other = line(10, 4);
    other.data = sha256("other data");
    EXPECT_THAT(warnings({other, line(12, 5)}), IsEmpty());
    other = line(10, 4);
    other.tokens = Tokens{41};
    EXPECT_THAT(warnings({other, line(12, 5)}), IsEmpty());
}

TEST(Followed, ALossThatIsNotFiniteIsAWarning)
{
    EXPECT_THAT(warnings({line(10, 4), line(12, {})}),
                ElementsAre(HasSubstr("of commit 12 is not finite")));
}

TEST(Followed, BeingBehindBeyondTheBoundIsAWarning)
{
    EXPECT_THAT(warnings({line(6, 4)}), IsEmpty());
    EXPECT_THAT(warnings({line(6, 4)}, 14),
                ElementsAre(HasSubstr("are 4 models behind (bound: 3)")));
}

}  // namespace
}  // namespace curtail::account
