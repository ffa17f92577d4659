// SPDX-License-Identifier: Apache-2.0
// The background thread, its executor and the protocol against failing stores, with a trainer that
// only counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "protocol/chain/chain.hpp"
#include "support/forwarding_store.hpp"
#include "support/memory_store.hpp"
#include "trainer/rounds/counting_site.hpp"

namespace curtail::trainer {
namespace {

using test::CountingSite;
using test::fast_run;
using test::long_enough;
using test::shared;
using testing::HasSubstr;

// A store that refuses all writes once `full` is set.
class FullStore final : public curtail::test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        if (full) return refuse(name);
        return ForwardingStore::create(name, bytes, call);
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        if (full) return refuse(name);
        return ForwardingStore::put(name, bytes, call);
    }

    std::atomic<bool> full{false};
    std::atomic<int> refused{0};

  private:
    tl::unexpected<Error> refuse(store::ObjectName const& name)
    {
        ++refused;
        return fail(ExitCode::io, "cannot write " + name.text(), "No space left on device",
                    "free some space");
    }
};

TEST(RoundThread, WithAFullStoreItStillLeavesOnRequest)
{
    store::MemoryStore objects;
    FullStore gate(objects);
    auto const run = fast_run(1'000'000);
    CountingSite a("A", run, shared(gate));
    CountingSite b("B", run, shared(gate));
    auto const merged = [&] {
        return objects.stat(*chain::object_name(run.run, "merge/4/1.json")).value().has_value();
    };
    auto const leased = [&] {
        for (int round = 2; round < 50; ++round)
            if (objects.stat(*chain::object_name(run.run, protocol::lease_name({round}, 1)))
                    .value())
                return true;
        return merged();
    };
    ASSERT_TRUE(curtail::test::eventually(leased, long_enough));
    gate.full = true;
    // Until the leases have expired and no site can create another.
    ASSERT_TRUE(curtail::test::eventually([&] { return gate.refused >= 12; }, long_enough));
    int const before = gate.refused;
    a.stop(Millis{400});
    b.stop(Millis{400});
    auto const left_a = a.left();
    auto const left_b = b.left();
    a.give_up();
    b.give_up();
    ASSERT_TRUE(left_a && left_b) << "a site did not leave";
    for (auto const& left : {*left_a, *left_b})
        EXPECT_TRUE(left.code == ExitCode::ok || left.code == ExitCode::unavailable);
    EXPECT_LT(gate.refused - before, 200);
    auto const count = [](std::string const& text) {
        int n = 0;
        for (auto at = text.find("No space"); at != text.npos; at = text.find("No space", at + 1))
            ++n;
        return n;
    };
    EXPECT_LE(count(a.log()), 1) << "the same error is logged once for all objects:\n" << a.log();
}

TEST(RoundThread, TheProtocolsClockCountsASuspensionOfTheMachine)
{
    store::MemoryStore objects;
    auto const run = fast_run(1'000'000);
    std::atomic<std::int64_t> suspended{0};
    CountingSite a("A", run, shared(objects), {}, [&] { return Millis(suspended.load()); });
    chain::RunObjects const records(objects, run.run);
    auto const tip = [&] {
        auto const newest = chain::read_chain(records, chain::Check::links);
        return newest && !newest->empty() ? newest->back() : protocol::Commit{};
    };
    ASSERT_TRUE(curtail::test::eventually([&] { return tip().number.value > 3; }, long_enough));
    auto const before = tip();
    suspended = 3'600'000;
    EXPECT_TRUE(curtail::test::eventually(
        [&] {
            auto const chain = chain::read_chain(records, chain::Check::links).value();
            return std::any_of(chain.begin(), chain.end(), [&](auto const& commit) {
                return commit.time > before.time + Seconds{3599};
            });
        },
        long_enough));
    a.stop(Millis{4000});
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->code, ExitCode::ok);
}

TEST(RoundThread, ASiteSweepsAModelThatNoCommitNames)
{
    store::MemoryStore objects;
    auto run = fast_run(1'000'000);
    run.params.sweep_after = Millis{1'500};
    auto const unused = chain::object_name(run.run, "models/2/B.00000001.2-7/w0.h5").value();
    auto const bytes = store::bytes_of("weights");
    ASSERT_TRUE(objects.put(unused, Pieces(std::span(bytes))));
    CountingSite a("A", run, shared(objects));
    EXPECT_TRUE(
        curtail::test::eventually([&] { return !objects.stat(unused).value(); }, long_enough));
    a.stop(Millis{4000});
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left);
    EXPECT_EQ(left->code, ExitCode::ok);
    EXPECT_FALSE(std::filesystem::is_empty(a.cache_folder() / "records"))
        << "the next sweep would read the whole chain again";
}

TEST(RoundThread, AReadOnlyStoreEndsTheStartWithItsError)
{
    store::MemoryStore objects;
    FullStore gate(objects);
    gate.full = true;
    CountingSite a("A", fast_run(100), shared(gate));
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left && left->error);
    EXPECT_EQ(left->code, ExitCode::io);
    EXPECT_THAT(left->error->message(), HasSubstr("No space left on device; free some space"));
}

// A thread whose training loop never returns from its step.
class HangingLoop {
  public:
    explicit HangingLoop(std::function<std::optional<MonoTime>()> exit_by, Millis grace,
                         std::string_view run_json = {})
        : begun_(run_json.empty() || objects_.create(*chain::object_name({"test"}, "run.json"),
                                                     std::as_bytes(std::span(run_json)))),
          thread_(protocol::Site({{{"A"}, 1}, fast_run(100), 0}),
                  {shared(objects_),
                   {{"test"}, {{"w", {4}}}},
                   [](std::int64_t) { return std::make_shared<std::vector<float> const>(4, 0.0F); },
                   {},
                   recorder_,
                   {}},
                  {std::move(exit_by), grace,
                   [this](Error const& error) { ended_ = static_cast<int>(error.code); }})
    {
    }
    [[nodiscard]] RoundThread& thread() { return thread_; }
    [[nodiscard]] int ended() const { return ended_; }

  private:
    curtail::test::TemporaryFolder folder_;
    Recorder recorder_{folder_.path(), "A", "", {}};
    store::MemoryStore objects_;
    std::atomic<int> ended_{0};
    bool begun_;  // the store holds run_json
    RoundThread thread_;
};

TEST(RoundThread, AHangingStepEndsTheProcessAfterTheGrace)
{
    auto const asked = monotonic_now();
    HangingLoop hanging([&] { return asked + Millis{180}; }, Millis{200});
    EXPECT_TRUE(curtail::test::eventually([&] { return hanging.ended() == 69; }, long_enough));
    EXPECT_GE(monotonic_now(), asked + Millis{180});
}

TEST(RoundThread, AnUnansweredOrderToLeaveEndsTheProcess)
{
    HangingLoop hanging([] { return std::nullopt; }, Millis{200});
    hanging.thread().post(protocol::StopRequested{monotonic_now(), monotonic_now()});
    EXPECT_TRUE(curtail::test::eventually([&] { return hanging.ended() == 69; }, long_enough));
}

TEST(RoundThread, WithoutASignalALongStepGetsMoreTime)
{
    auto const start = monotonic_now();
    HangingLoop slow([] { return std::nullopt; }, Millis{100});
    slow.thread().post(protocol::Stepped{{}, FractionalSeconds{0.25}});
    slow.thread().post(protocol::StopRequested{monotonic_now(), monotonic_now()});
    EXPECT_TRUE(curtail::test::eventually([&] { return slow.ended() == 69; }, long_enough));
    EXPECT_GE(monotonic_now() - start, Millis{900});
}

TEST(RoundThread, AnErrorOfTheProtocolEndsAHangingProcessToo)
{
    HangingLoop hanging([] { return std::nullopt; }, Millis{100}, "no record");
    EXPECT_TRUE(curtail::test::eventually([&] { return hanging.ended() == 76; }, long_enough))
        << hanging.ended();
}

TEST(RoundThread, ALoopThatLeavesDoesNotEndTheProcess)
{
    HangingLoop leaving([] { return std::nullopt; }, Seconds{30});
    leaving.thread().post(protocol::StopRequested{monotonic_now(), monotonic_now()});
    auto const start = monotonic_now();
    (void)leaving.thread().join();
    EXPECT_LT(monotonic_now() - start, Seconds{10}) << "leaving must be quick";
    EXPECT_EQ(leaving.ended(), 0);
}

}  // namespace
}  // namespace curtail::trainer
