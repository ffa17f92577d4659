// SPDX-License-Identifier: Apache-2.0
// Which models a follower evaluates next.
#include "trainer/evaluate/follow/plan.hpp"

#include <gmock/gmock.h>

namespace curtail::follow {
namespace {

using Kind = protocol::Commit::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

Digest model(std::int64_t commit) { return sha256("model " + std::to_string(commit)); }

protocol::Commit commit(std::int64_t number, Kind kind = Kind::merge, std::int64_t round = 1)
{
    protocol::Commit c;
    c.round = {round};
    c.number = {number};
    c.kind = kind;
    c.model.weights = {"w0", "w0.h5", 1, model(number)};
    return c;
}

runlog::HeldOutLine line(std::int64_t number)
{
    runlog::HeldOutLine l;
    l.commit = {number};
    l.model = model(number);
    return l;
}

// The models of these commits.
std::vector<protocol::Commit> const models{commit(1, Kind::genesis), commit(3, Kind::merge, 2),
                                           commit(4, Kind::merge, 3), commit(6, Kind::merge, 4)};

std::vector<std::int64_t> pending(std::vector<runlog::HeldOutLine> const& lines,
                                  std::int64_t oldest_kept = 2)
{
    std::vector<std::int64_t> numbers;
    for (auto const& c : pending_models(models, lines, {oldest_kept}))
        numbers.push_back(c.number.value);
    return numbers;
}

TEST(FollowPlan, TheFirstCommitAndMergesMakeModels)
{
    EXPECT_TRUE(makes_model(commit(1, Kind::genesis)));
    EXPECT_TRUE(makes_model(commit(2, Kind::merge)));
    EXPECT_FALSE(makes_model(commit(2, Kind::roster)));
}

TEST(FollowPlan, BeginsWithTheOldestModelThatTheRunKeeps)
{
    EXPECT_THAT(pending({}), ElementsAre(3, 4, 6));
    EXPECT_THAT(pending({}, 4), ElementsAre(6));
    EXPECT_THAT(pending({}, 1), ElementsAre(1, 3, 4, 6));
}

TEST(FollowPlan, GoesOnAfterTheNewestLineWithEveryModel)
{
    EXPECT_THAT(pending({line(1)}, 4), ElementsAre(3, 4, 6)) << "3 and 4 are noted as deleted";
    EXPECT_THAT(pending({line(1), line(3)}), ElementsAre(4, 6));
    EXPECT_THAT(pending({line(4), line(3)}), ElementsAre(6));
    EXPECT_THAT(pending({line(6)}), IsEmpty());
}

TEST(FollowPlan, LinesOfAnEarlierRunDoNotCount)
{
    auto other = line(4);
    other.model = sha256("another model");
    EXPECT_THAT(pending({other, line(9)}), ElementsAre(3, 4, 6));
    EXPECT_THAT(pending({line(3), other}), ElementsAre(4, 6));
}

TEST(FollowPlan, RunWithoutACommitHasNothingToEvaluate)
{
    EXPECT_THAT(pending_models({}, {}, {1}), IsEmpty());
}

TEST(FollowPlan, AModelStaysLostOnceNobodyRepairsIt)
{
    Millis const wait{1000};
    EXPECT_TRUE(stays_lost({false, false, Millis{0}, wait})) << "the run has deleted it";
    EXPECT_FALSE(stays_lost({true, true, 9 * wait, wait})) << "the sites repair it";
    EXPECT_FALSE(stays_lost({true, false, Millis{999}, wait}));
    EXPECT_TRUE(stays_lost({true, false, wait, wait})) << "nobody repairs it";
}

TEST(FollowPlan, OnlyOutagesMayPass)
{
    for (auto const code : {ExitCode::temporary, ExitCode::io, ExitCode::unavailable})
        EXPECT_TRUE(may_pass(code));
    for (auto const code : {ExitCode::protocol, ExitCode::config, ExitCode::permission,
                            ExitCode::data, ExitCode::no_input, ExitCode::software})
        EXPECT_FALSE(may_pass(code));
}

}  // namespace
}  // namespace curtail::follow
