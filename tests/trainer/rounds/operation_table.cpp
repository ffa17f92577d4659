// SPDX-License-Identifier: Apache-2.0
// The threads of operations on the store: how many there are, who waits, and how they end.
#include "trainer/rounds/operation_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "support/eventually.hpp"
#include "support/slow_to_end.hpp"
#include "trainer/rounds/hanging_store.hpp"

namespace curtail::trainer {
namespace {

using test::HangingStore;

constexpr Seconds long_enough{40};

struct Table : testing::Test {
    // A table whose owner looks for results until `count` have come.
    std::vector<OperationTable::Finish> wait_for(std::size_t count)
    {
        std::vector<OperationTable::Finish> results;
        EXPECT_TRUE(curtail::test::eventually([&] {
            for (auto& result : table.take_ended()) results.push_back(std::move(result));
            return results.size() >= count;
        }));
        return results;
    }
    static OperationTable::Finish answer(protocol::Op op)
    {
        return [op]() -> std::optional<protocol::Input> { return protocol::Missing{op}; };
    }
    static OperationTable::Work answers_at_once(protocol::Op op)
    {
        return [op](CallLimits const&) { return answer(op); };
    }
    static protocol::Op op_of(OperationTable::Finish const& finish)
    {
        return std::get<protocol::Missing>(*finish()).op;
    }
    std::atomic<int> notified{0};
    OperationTable table{[this] { ++notified; }};
};

TEST_F(Table, SeveralOperationsRunAtTheSameTime)
{
    std::atomic<int> running{0};
    for (protocol::Op op = 1; op <= 3; ++op)
        table.start(
            op, Seconds{20},
            [&, op](CallLimits const&) {
                ++running;
                (void)curtail::test::eventually([&] { return running == 3; });
                return answer(op);
            },
            answer(0));
    std::set<protocol::Op> ops;
    for (auto const& result : wait_for(3)) ops.insert(op_of(result));
    EXPECT_EQ(ops, (std::set<protocol::Op>{1, 2, 3}));
    EXPECT_EQ(notified, 3);
    EXPECT_EQ(table.next_limit(), std::nullopt);
}

TEST_F(Table, ALateResultIsDroppedAndFourThreadsAreAbandonedAtMost)
{
    auto const gate = std::make_shared<HangingStore>();
    gate->hang();
    std::atomic<int> begun{0};
    auto const hangs = [gate, &begun](CallLimits const&) {
        ++begun;
        (void)gate->get(*store::ObjectName::parse("runs/r/run.json"), {1});
        return answer(99);
    };
    for (protocol::Op op = 1; op <= 6; ++op) table.start(op, Millis{1}, hangs, answer(op));
    EXPECT_EQ(wait_for(6).size(), 6U) << "operations without a thread end in time too";
    EXPECT_EQ(table.abandoned(), 4);
    EXPECT_EQ(begun, 4);
    table.start(7, Seconds{20}, answers_at_once(99), answer(7));
    EXPECT_EQ(op_of(wait_for(1).at(0)), 7U) << "nothing was started";
    gate->release();
    EXPECT_TRUE(curtail::test::eventually([&] { return table.abandoned() == 0; }));
    table.start(8, Seconds{20}, answers_at_once(8), answer(99));
    EXPECT_EQ(op_of(wait_for(1).at(0)), 8U) << "the late results are dropped";
}

TEST_F(Table, ErrandsLeaveAThreadToQuestions)
{
    constexpr auto first = OperationTable::first_errand;
    std::atomic<bool> release{false};
    std::atomic<int> begun{0};
    auto const waits = [&](protocol::Op op) {
        return [&, op](CallLimits const&) {
            ++begun;
            (void)curtail::test::eventually([&] { return release.load(); });
            return answer(op);
        };
    };
    for (protocol::Op op = first; op < first + 5; ++op)
        table.start(op, Seconds{20}, waits(op), answer(0));
    table.start(1, Seconds{20}, answers_at_once(1), answer(0));
    EXPECT_EQ(op_of(wait_for(1).at(0)), 1U);
    EXPECT_TRUE(curtail::test::eventually([&] { return begun == OperationTable::most_errands; }));
    EXPECT_TRUE(table.has_errands());
    release = true;
    std::set<protocol::Op> ops;
    for (auto const& result : wait_for(5)) ops.insert(op_of(result));
    EXPECT_EQ(ops, (std::set<protocol::Op>{first, first + 1, first + 2, first + 3, first + 4}));
    EXPECT_FALSE(table.has_errands());
}

TEST_F(Table, ChoresLeaveAThreadToErrands)
{
    std::atomic<bool> release{false};
    std::atomic<int> begun{0};
    for (protocol::Op op = OperationTable::first_chore; op < OperationTable::first_chore + 5; ++op)
        table.start(
            op, Seconds{20},
            [&, op](CallLimits const&) {
                ++begun;
                (void)curtail::test::eventually([&] { return release.load(); });
                return answer(op);
            },
            answer(0));
    auto const errand = OperationTable::first_errand;
    table.start(errand, Seconds{20}, answers_at_once(errand), answer(0));
    EXPECT_EQ(op_of(wait_for(1).at(0)), errand);
    EXPECT_TRUE(curtail::test::eventually([&] { return begun == OperationTable::most_chores; }));
    release = true;
    EXPECT_EQ(wait_for(5).size(), 5U);
}

// The owner has given up the question before, and nobody else waits for its answer.
TEST_F(Table, AQuestionCancelsTheOneBefore)
{
    auto const until_cancelled = [](CallLimits const& call) {
        (void)curtail::test::eventually([&] { return call.cancel.stop_requested(); });
        return answer(call.cancel.stop_requested() ? 7 : 8);
    };
    table.start(1, std::chrono::hours{1}, until_cancelled, answer(0));
    auto const errand = OperationTable::first_errand;
    table.start(errand, Seconds{20}, answers_at_once(errand), answer(0));
    EXPECT_EQ(op_of(wait_for(1).at(0)), errand);
    table.start(2, Seconds{20}, answers_at_once(2), answer(0));
    std::set<protocol::Op> ops;
    for (auto const& result : wait_for(2)) ops.insert(op_of(result));
    EXPECT_EQ(ops, (std::set<protocol::Op>{2, 7}));
}

TEST_F(Table, AnExceptionReachesTheOwner)
{
    table.start(
        1, Seconds{20},
        [](CallLimits const&) -> OperationTable::Finish { throw std::runtime_error("broken"); },
        answer(0));
    EXPECT_THROW((void)wait_for(1).at(0)(), std::runtime_error);
}

TEST(TableEnd, WaitsUntilAThreadHasLetGoOfTheStore)
{
    std::atomic<bool> ended{false};
    {
        OperationTable table([] {});
        auto store = std::make_shared<curtail::test::SlowToEnd>(ended);
        table.start(
            1, Seconds{20},
            [store = std::move(store)](CallLimits const&) -> OperationTable::Finish { return {}; },
            {});
    }
    EXPECT_TRUE(ended);
}

TEST(TableEnd, WaitsForTheVariablesOfAThread)
{
    std::atomic<bool> ended{false};
    {
        OperationTable table([] {});
        table.start(1, Seconds{20},
                    [&](CallLimits const&) -> OperationTable::Finish {
                        thread_local curtail::test::SlowToEnd const library_state(ended);
                        return {};
                    },
                    {});
    }
    EXPECT_TRUE(ended);
}

TEST(TableEnd, WaitsForAnAbandonedThreadThatEndsSoon)
{
    std::atomic<bool> answers{false};
    std::atomic<bool> ended{false};
    {
        OperationTable table([] {});
        table.start(1, Millis{1},
                    [&](CallLimits const&) -> OperationTable::Finish {
                        curtail::test::SlowToEnd const work(ended);
                        (void)curtail::test::eventually([&] { return answers.load(); },
                                                        long_enough);
                        return {};
                    },
                    {});
        ASSERT_TRUE(
            curtail::test::eventually([&] { return !table.take_ended().empty(); }, long_enough));
        EXPECT_EQ(table.abandoned(), 1);
        answers = true;
    }
    EXPECT_TRUE(ended);
}

TEST(TableEnd, DoesNotWaitForAThreadThatHangs)
{
    std::atomic<bool> answers{false};
    std::atomic<bool> ended{false};
    auto const begun = monotonic_now();
    {
        OperationTable table([] { ADD_FAILURE() << "notified"; });
        table.start(1, Seconds{20},
                    [&](CallLimits const&) -> OperationTable::Finish {
                        (void)curtail::test::eventually([&] { return answers.load(); },
                                                        long_enough);
                        ended = true;
                        return {};
                    },
                    {});
    }
    EXPECT_LT(monotonic_now() - begun, Seconds{15});
    EXPECT_FALSE(ended);
    answers = true;
    EXPECT_TRUE(curtail::test::eventually([&] { return ended.load(); }));
}

TEST_F(Table, ItsEndCancelsWhatIsUnderWay)
{
    std::atomic<bool> cancelled{false};
    auto const ended = std::make_shared<std::atomic<bool>>(false);
    {
        OperationTable brief([] {});
        brief.start(
            1, Seconds{20},
            [&cancelled, ended](CallLimits const& call) {
                cancelled = curtail::test::eventually([&] { return call.is_over(); });
                *ended = true;
                return answer(1);
            },
            answer(0));
    }
    EXPECT_TRUE(ended->load()) << "the table waits for an operation that ends soon";
    EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace curtail::trainer
