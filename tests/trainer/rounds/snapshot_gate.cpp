// SPDX-License-Identifier: Apache-2.0
// A contribution goes out once the snapshot of its cut is on the disk, has failed, or takes too
// long.
#include "trainer/rounds/snapshot_gate.hpp"

#include <gmock/gmock.h>

#include <set>

#include "protocol/chain/chain.hpp"
#include "support/faulty_store.hpp"
#include "support/forwarding_store.hpp"
#include "trainer/job/leader_snapshots.hpp"
#include "trainer/job/leader_training.hpp"
#include "trainer/rounds/counting_site.hpp"
#include "trainer/rounds/executor_fixture.hpp"

namespace curtail::trainer {
namespace {

using State = SnapshotGate::State;
using test::CountingSite;
using test::fast_run;
using test::long_enough;
using test::shared;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Millis upload_time{100};

// An executor with a gate. Its uploads take `upload_time`.
class Gated : public Executor {
  protected:
    RoundExecutor::Parts gated()
    {
        auto with_gate = parts();
        store::Faults slow;
        slow.slow = 1;
        slow.delay = upload_time;
        with_gate.store = std::make_shared<store::FaultyStore>(objects, slow, 1);
        with_gate.gate = gate;
        auto const keep = [this](Level, std::string_view text) { lines.emplace_back(text); };
        with_gate.log = Log(keep, Level::debug);
        with_gate.initial_weights = [](std::int64_t) {
            return std::make_shared<std::vector<float> const>(2, 0.0F);
        };
        return with_gate;
    }
    // Makes contribution `seq` and begins to store its delta. The question has the same number.
    void contribute(std::int64_t seq)
    {
        auto const values = std::make_shared<std::vector<float> const>(2, 1.0F);
        (void)gated_executor.translate(CutResult{0, {seq}, {values, nullptr, {2, 0}}});
        auto const name = protocol::delta_name({1}, {"A.00000011.2"}, {seq});
        gated_executor.carry_out(
            protocol::StoreDelta{static_cast<protocol::Op>(seq), {seq}, {"d0", name}});
    }
    // The numbers of the questions that were answered with Stored since the last call.
    std::vector<protocol::Op> stored()
    {
        std::vector<protocol::Op> ops;
        for (auto const& answer : gated_executor.take_answers())
            ops.push_back(std::get<protocol::Stored>(answer).op);
        return ops;
    }
    // Waits for the only answer. It must be to question `op`.
    void expect_stored(protocol::Op op)
    {
        std::vector<protocol::Op> ops;
        ASSERT_TRUE(curtail::test::eventually(
            [&] {
                ops = stored();
                return !ops.empty();
            },
            long_enough));
        EXPECT_THAT(ops, testing::ElementsAre(op));
    }
    std::vector<std::string> lines;  // of the log
    std::shared_ptr<SnapshotGate> const gate{std::make_shared<SnapshotGate>()};
    RoundExecutor gated_executor{gated(), [] {}};
};

TEST_F(Gated, AContributionGoesOutIfTheSnapshotTakesLongerThanItsUpload)
{
    gate->set(State::writing);
    auto const began = monotonic_now();
    contribute(1);
    expect_stored(1);
    EXPECT_GE(monotonic_now() - began, 2 * upload_time) << "it waits as long as its upload took";
    EXPECT_THAT(lines, Contains(HasSubstr("the snapshot takes longer than the upload")));
}

TEST_F(Gated, AContributionDoesNotWaitForAnOpenGate)
{
    contribute(1);
    expect_stored(1);
    EXPECT_THAT(lines, IsEmpty());
}

// A model of the same executor is stored later, but answered first.
TEST_F(Gated, OnlyContributionsWaitWhileTheRanksCopyTheirValues)
{
    gate->set(State::announced);
    contribute(1);
    for (protocol::Op op = 2; op <= 4; ++op) {
        auto const name = protocol::model_name({1}, {"A.00000011.0"}, 1, "w" + std::to_string(op));
        gated_executor.carry_out(protocol::MakeInitial{op, 0, {"w0", name}});
        expect_stored(op);
    }
    gate->set(State::open);
    expect_stored(1);
    EXPECT_THAT(lines, IsEmpty());
}

// A store of two sites. It closes the gate of A as A's first delta arrives, as a trainer does that
// has just made the cut, and counts what follows.
class ClosingStore final : public curtail::test::ForwardingStore {
  public:
    ClosingStore(store::ObjectStore& inner, std::shared_ptr<SnapshotGate> gate)
        : ForwardingStore(inner), gate_(std::move(gate))
    {
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        bool const of_a = name.text().find("/deltas/") != std::string::npos &&
                          name.text().find("/A.") != std::string::npos;
        if (of_a && !delta.exchange(true)) gate_->set(State::announced);
        return ForwardingStore::put(name, bytes, call);
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        reads += delta ? 1 : 0;
        return ForwardingStore::read(name, limit, sink, call);
    }
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        bool const header = name.text().find("/contrib/A.") != std::string::npos;
        headers += delta && header ? 1 : 0;
        return ForwardingStore::create(name, bytes, call);
    }
    std::atomic<bool> delta{false};  // one of A has arrived
    std::atomic<int> reads{0};       // by both sites since then
    std::atomic<int> headers{0};     // of A since then

  private:
    std::shared_ptr<SnapshotGate> gate_;
};

TEST(SnapshotGate, TheHeaderOfAContributionWaitsForTheSnapshotOfItsCut)
{
    store::MemoryStore objects;
    auto const gate = std::make_shared<SnapshotGate>();
    ClosingStore closing(objects, gate);
    auto run = fast_run(1'000'000);
    run.params.drop_after = Seconds{30};  // B waits for A
    CountingSite a("A", run, shared(closing), {}, suspended_time, gate);
    CountingSite b("B", run, shared(closing));
    EXPECT_TRUE(curtail::test::eventually([&] { return closing.reads >= 50; }, long_enough))
        << "B looks for news meanwhile";
    EXPECT_EQ(closing.headers, 0);
    gate->set(State::open);
    EXPECT_TRUE(curtail::test::eventually([&] { return closing.headers > 0; }, long_enough));
    a.stop(Seconds{10});
    b.stop(Seconds{10});
    auto const left_a = a.left();
    auto const left_b = b.left();
    a.give_up();
    b.give_up();
    ASSERT_TRUE(left_a && left_b);
    EXPECT_TRUE(chain::verify_run({objects, run.run}));
}

// The leader's snapshots in a site's folder.
class Leader : public test::LeaderTraining {
  protected:
    void SetUp() override
    {
        LeaderTraining::SetUp();
        LeaderTraining::begin({site_folder(), false});
        context_.emplace(context({}));
        snapshots_.emplace(*site_ranks_, *context_, &gate_);
        snapshots_->step();
    }
    // As at a cut.
    void begin(std::optional<std::string> const& training_id)
    {
        snapshots_->announce();
        snapshots_->begin({Tokens{1}, 1, 1}, training_id);
    }
    // The gate is not `announced` after begin().
    [[nodiscard]] bool gate_is_open() { return gate_.wait(Millis{0}); }
    void wait_until_written()
    {
        EXPECT_TRUE(curtail::test::eventually(
            [&] {
                snapshots_->poll();
                return gate_is_open();
            },
            long_enough));
    }
    [[nodiscard]] std::string events() const
    {
        return read_file(site_folder() / "events.jsonl").value_or("");
    }

    std::optional<LeaderContext> context_;
    SnapshotGate gate_;
    std::optional<LeaderSnapshots> snapshots_;
};

TEST_F(Leader, TheGateIsClosedUntilTheSnapshotIsOnTheDisk)
{
    begin("run x");
    EXPECT_FALSE(gate_is_open());
    wait_until_written();
    EXPECT_EQ(kept().tokens, Tokens{1});
    EXPECT_THAT(events(), Not(HasSubstr("snapshot-failed")));
}

TEST_F(Leader, TheGateOpensIfTheSnapshotFails)
{
    // A folder has the name of the file.
    ASSERT_TRUE(make_folder(site_folder() / snapshot::file_name({1, 0, 1}) / "sub"));
    begin("run x");
    wait_until_written();
    EXPECT_FALSE(newest_snapshot());
    EXPECT_THAT(events(), HasSubstr("snapshot-failed"));
}

TEST_F(Leader, TheGateOpensIfNoSnapshotBegins)
{
    begin({});  // which run this is cannot be seen in the store
    EXPECT_TRUE(gate_is_open());
    EXPECT_THAT(events(), testing::AllOf(testing::HasSubstr("commits/00000001.json"),
                                         testing::HasSubstr("curtail-store repair")));
    begin("run x");
    wait_until_written();
    begin("run x");
    EXPECT_TRUE(gate_is_open()) << "nothing has changed since the last snapshot";
}

}  // namespace
}  // namespace curtail::trainer
