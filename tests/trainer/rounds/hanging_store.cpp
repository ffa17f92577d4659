// SPDX-License-Identifier: Apache-2.0
// The background thread, with a store that does not answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/chain/chain.hpp"
#include "trainer/engine/training_id.hpp"
#include "trainer/rounds/counting_site.hpp"
#include "trainer/rounds/hanging_store.hpp"

namespace curtail::trainer {
namespace {

using test::CountingSite;
using test::fast_run;
using test::HangingStore;
using test::long_enough;
using testing::HasSubstr;

class Hanging : public testing::Test {
  protected:
    void TearDown() override { gate->release(); }
    [[nodiscard]] bool has_commit(int number) const
    {
        auto const name = protocol::commit_name({number});
        return gate->inner.stat(*chain::object_name(run.run, name)).value().has_value();
    }
    protocol::RunSpec run{fast_run(1'000'000)};
    std::shared_ptr<HangingStore> gate{std::make_shared<HangingStore>()};
};

TEST_F(Hanging, AStopRequestEndsTheSiteInTime)
{
    CountingSite a("A", run, gate);
    ASSERT_TRUE(curtail::test::eventually([&] { return has_commit(6); }, long_enough));
    gate->hang();
    ASSERT_TRUE(curtail::test::eventually([&] { return gate->waiting() > 0; }, long_enough));
    auto const asked = monotonic_now();
    a.stop(Millis{500});
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left);
    EXPECT_LT(monotonic_now() - asked, Seconds{10});
    EXPECT_TRUE(left->code == ExitCode::ok || left->code == ExitCode::unavailable);
}

// A poll that gets no answer holds back neither the last cut nor the work in it.
TEST_F(Hanging, AStopRequestDoesNotWaitForAPoll)
{
    run.params.grant_quantum = 1'000'000;
    run.params.checkpoint_interval = std::chrono::hours{1};
    run.params.drop_after = std::chrono::hours{2};
    CountingSite a("A", run, gate);
    ASSERT_TRUE(curtail::test::eventually([&] { return has_commit(2); }, long_enough));
    auto const before = gate->reads();
    ASSERT_TRUE(curtail::test::eventually([&] { return gate->reads() > before + 20; }, long_enough))
        << "the member only polls now";
    gate->hang_once();
    ASSERT_TRUE(curtail::test::eventually([&] { return gate->waiting() > 0; }, long_enough));
    a.stop(Seconds{10});
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->code, ExitCode::ok) << (left->error ? left->error->message() : "");
    EXPECT_TRUE(has_commit(3)) << "its work must be in the chain";
}

// The background thread reads the id: the training loop never waits for the store.
TEST_F(Hanging, ASiteLearnsTheIdOfItsTrainingOnce)
{
    CountingSite a("A", run, gate);
    ASSERT_TRUE(curtail::test::eventually([&] { return has_commit(6); }, long_enough));
    a.stop(Seconds{5});
    ASSERT_TRUE(a.left());
    auto const id = training_id_in_store(*gate, run.run).value();
    ASSERT_TRUE(id);
    EXPECT_THAT(a.training_ids(), testing::ElementsAre(*id));
}

TEST_F(Hanging, TrainingGoesOnAndTheRunContinuesWhenTheStoreAnswersAgain)
{
    CountingSite a("A", run, gate, {.record = Millis{100}, .payload = Millis{100}});
    ASSERT_TRUE(curtail::test::eventually([&] { return has_commit(6); }, long_enough));
    gate->hang();
    ASSERT_TRUE(curtail::test::eventually(
        [&] { return gate->waiting() == OperationTable::most_threads; }, long_enough))
        << "operations are given up and tried again, but not without limit";
    int commits = 6;
    while (has_commit(commits + 1)) ++commits;
    gate->release();
    EXPECT_TRUE(curtail::test::eventually([&] { return has_commit(commits + 5); }, long_enough));
    a.stop(Seconds{5});
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->code, ExitCode::ok) << (left->error ? left->error->message() : "");
    EXPECT_THAT(a.log(), HasSubstr("the store does not answer: no answer within 0.1 s"));
    EXPECT_TRUE(chain::verify_run({gate->inner, run.run}));
}

}  // namespace
}  // namespace curtail::trainer
