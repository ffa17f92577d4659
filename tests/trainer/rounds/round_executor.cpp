// SPDX-License-Identifier: Apache-2.0
// Writes of records through the executor, and models that it makes and adopts.
#include "trainer/rounds/round_executor.hpp"

#include <atomic>

#include "protocol/records/fixtures.hpp"
#include "protocol/rules/next.hpp"
#include "support/forwarding_store.hpp"
#include "trainer/rounds/executor_fixture.hpp"

namespace curtail::trainer {
namespace {

TEST_F(Executor, OverwritesARecordOfItsSite)
{
    auto const name = *store::ObjectName::parse("runs/test/contrib/A.00000011.2/1.json");
    ASSERT_TRUE(objects.put(name, std::string_view("damaged")));
    executor.carry_out(protocol::Overwrite{"contrib/A.00000011.2/1.json", "right"});
    EXPECT_TRUE(test::eventually([&] {
        (void)executor.take_answers();
        return store::text_of(*objects.get(name, {1 << 20}).value()) == "right";
    }));
}

// A store whose writes wait until the test releases them.
class WaitingStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        ++puts;
        released.wait(false);
        return ForwardingStore::put(name, bytes, call);
    }
    std::atomic<int> puts{0};
    std::atomic<bool> released{false};
};

TEST_F(Executor, WritesARecordAgainOnlyAfterTheWriteBeforeHasEnded)
{
    auto const slow = std::make_shared<WaitingStore>(objects);
    auto with_slow_store = parts();
    with_slow_store.store = slow;
    RoundExecutor slow_executor(with_slow_store, [] {});
    protocol::Overwrite const status{protocol::status_name({"A"}), "alive"};
    slow_executor.carry_out(status);
    ASSERT_TRUE(test::eventually([&] { return slow->puts == 1; }));
    slow_executor.carry_out(status);
    slow->released = true;
    slow->released.notify_all();
    auto const name = *store::ObjectName::parse("runs/test/" + status.name);
    ASSERT_TRUE(test::eventually([&] { return objects.stat(name).value().has_value(); }));
    EXPECT_EQ(slow->puts, 1);
    EXPECT_TRUE(test::eventually([&] {
        (void)slow_executor.take_answers();
        slow_executor.carry_out(status);
        return slow->puts > 1;
    })) << "the first write has ended";
}

TEST_F(Executor, TellsTheIdOfTheTrainingOnceTheFirstCommitCanBeRead)
{
    auto asks = parts();
    asks.identify = true;
    asks.limits.identify_again = Millis{0};
    RoundExecutor asking(asks, [] {});
    auto const step = [&] {
        (void)asking.translate(protocol::Stepped{});
        (void)asking.take_answers();
    };
    auto const name = protocol::commit_name({1});
    auto const model = put("w0", "models/1/A.00000011.0-1/w0.h5", {8, 8});
    auto const first =
        protocol::encode(protocol::genesis(protocol::test::small_run(100), sha256("run.json"),
                                           {{"A.00000011.0"}, 1}, Time{}, model))
            .bytes;
    step();  // begins a read, which finds nothing
    ASSERT_TRUE(
        objects.put(*store::ObjectName::parse("runs/test/" + name), std::string_view(first)));
    ASSERT_TRUE(test::eventually([&] {
        step();
        return !orders.empty();
    }));
    EXPECT_EQ(std::get<IdentifyTraining>(orders.at(0)).id, "run " + sha256(first).hex());
    step();
    asking.finish_errands();
    EXPECT_EQ(orders.size(), 1U);
}

class Adopting : public Executor {
  protected:
    // Merges a delta of 2 into a model of 8 with a step of 1/2, so that the new model is 7.
    protocol::PartRef merge()
    {
        auto const theta = put("w0", "models/1/A.00000011.0-1/w0.h5", {8, 8});
        return outer_step(1, theta, {}, {2, 2}).weights.value();
    }
    // Reads the model for the training loop. Returns null if the answer is something else.
    Values adopt(protocol::PartRef const& model)
    {
        orders.clear();
        executor.carry_out(protocol::Adopt{2, {{2}, {model}}, false, {}, {3}});
        std::vector<protocol::Input> answers;
        EXPECT_TRUE(test::eventually([&] {
            answers = executor.take_answers();
            return !orders.empty() || !answers.empty();
        }));
        return orders.empty() ? nullptr : std::get<WithModel<protocol::Adopt>>(orders.at(0)).theta;
    }
};

TEST_F(Adopting, DoesNotReadBackTheModelThatItMade)
{
    auto const model = merge();
    EXPECT_TRUE(objects.remove(object(model)));
    auto const theta = adopt(model);
    ASSERT_TRUE(theta);
    EXPECT_EQ(*theta, (std::vector{6.5F, 6.5F}));
}

TEST_F(Adopting, CopiesWaitUntilTheSiteKeepsTheModel)
{
    auto const model = merge();
    EXPECT_TRUE(adopt(model));
    executor.finish_errands(Seconds{30});
    EXPECT_FALSE(std::filesystem::exists(kept));
    executor.carry_out(protocol::Keep{{model}});
    executor.finish_errands(Seconds{30});
    EXPECT_TRUE(chain::KeptPayloads(kept).find(model));
}

TEST_F(Adopting, AModelThatNoCommitNamesIsNotCopied)
{
    auto const lost = merge();
    auto const model = put("w0", "models/2/B.00000012.3-1/w0.h5", {1, 2});
    EXPECT_TRUE(adopt(model));
    executor.carry_out(protocol::Keep{{model}});
    executor.carry_out(protocol::Exit{});
    executor.finish_errands(Seconds{30});
    EXPECT_TRUE(chain::KeptPayloads(kept).find(model));
    EXPECT_FALSE(chain::KeptPayloads(kept).find(lost));
}

TEST_F(Adopting, TheLastModelIsCopiedBeforeTheSiteLeaves)
{
    auto const model = merge();
    executor.carry_out(protocol::Exit{});
    executor.finish_errands(Seconds{30});
    EXPECT_TRUE(chain::KeptPayloads(kept).find(model));
}

TEST_F(Adopting, ReadsAModelOfAnotherSiteFromTheStore)
{
    auto const model = put("w0", "models/2/B.00000012.3-1/w0.h5", {1, 2});
    EXPECT_EQ(*adopt(model), (std::vector{1.0F, 2.0F}));
    orders.clear();
    executor.carry_out(protocol::Keep{{model}});
    executor.finish_errands(Seconds{30});
    EXPECT_TRUE(objects.remove(object(model)));
    EXPECT_FALSE(adopt(model)) << "nobody holds the values any more";
}

}  // namespace
}  // namespace curtail::trainer
