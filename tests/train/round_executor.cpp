// SPDX-License-Identifier: Apache-2.0
// Writes of records through the executor.
#include "train/round_executor.hpp"

#include <atomic>

#include "support/forwarding_store.hpp"
#include "train/executor_fixture.hpp"

namespace curtail::train {
namespace {

TEST_F(Executor, OverwritesARecordOfItsSite)
{
    auto const name = *store::ObjectName::parse("runs/test/contrib/A.00000011.2/1.json");
    ASSERT_TRUE(objects.put(name, std::string_view("damaged")));
    executor.carry_out(rounds::Overwrite{"contrib/A.00000011.2/1.json", "right"});
    EXPECT_TRUE(test::eventually([&] {
        (void)executor.take_answers();
        return store::text_of(*objects.get(name, {1 << 20}).value()) == "right";
    }));
}

// A store whose writes wait until the test releases them.
class WaitingStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<void> put(store::ObjectName const& name, Pieces const& bytes, Call const& call) override
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
    rounds::Overwrite const status{rounds::status_name({"A"}), "alive"};
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

}  // namespace
}  // namespace curtail::train
