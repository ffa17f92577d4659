// SPDX-License-Identifier: Apache-2.0
// Two sites train to the end of their run, whatever faults their store has.
#include "support/faulty_store.hpp"

#include <gmock/gmock.h>

#include "protocol/chain/chain.hpp"
#include "trainer/rounds/counting_site.hpp"

namespace curtail::trainer {
namespace {

using store::Faults;
using test::CountingSite;
using test::fast_run;
using test::long_enough;
using test::shared;
using testing::AnyOf;
using testing::HasSubstr;

// A run of two sites on a faulty store.
class FaultyRun {
  public:
    explicit FaultyRun(Faults const& faults, std::int64_t blocks = 400, std::uint64_t seed = 1)
        : run_(fast_run(blocks)), faulty_(objects_, faults, seed)
    {
    }
    [[nodiscard]] store::FaultyStore& faulty() { return faulty_; }
    // The number of the newest commit.
    [[nodiscard]] std::int64_t height() const
    {
        std::int64_t number = 0;
        while (has_commit(number + 1)) ++number;
        return number;
    }
    // Trains to the end of the run. Calls `meanwhile` after the start.
    void train(
        RoundExecutor::Limits limits, std::function<void()> const& meanwhile = [] {})
    {
        CountingSite a("A", run_, shared(faulty_), limits);
        CountingSite b("B", run_, shared(faulty_), limits);
        meanwhile();
        auto const left_a = a.left();
        auto const left_b = b.left();
        a.give_up();
        b.give_up();
        ASSERT_TRUE(left_a && left_b) << a.log() << b.log();
        for (auto const& left : {*left_a, *left_b}) {
            auto const message = left.error ? left.error->message() : "";
            if (may_lose_ && left.code == ExitCode::unavailable)
                EXPECT_THAT(message, AnyOf(HasSubstr("this process has lost work"),
                                           HasSubstr("tokens of its work are lost")));
            else EXPECT_EQ(left.code, ExitCode::ok) << message;
        }
        log_ = a.log() + b.log();
    }
    // Long pauses after failures may outlast several of these short rounds, or drop_after. Then
    // work is stale, or a member is removed, and the exit of its process says so.
    void allow_pauses() { may_lose_ = true; }
    // Every block is in the model, once.
    void expect_complete() const
    {
        auto const sound = chain::verify_run({objects_, run_.run});
        ASSERT_TRUE(sound) << sound.error().message();
        EXPECT_TRUE(sound->tip.complete);
        EXPECT_EQ(sound->tip.totals.tokens, run_.stream_blocks() * run_.params.block_tokens);
        EXPECT_EQ(sound->tip.done.count(), run_.stream_blocks());
    }
    // What both sites have logged.
    [[nodiscard]] std::string const& log() const { return log_; }

  private:
    [[nodiscard]] bool has_commit(std::int64_t number) const
    {
        auto const name = protocol::commit_name({number});
        return objects_.stat(*chain::object_name(run_.run, name)).value().has_value();
    }
    mutable store::MemoryStore objects_;
    protocol::RunSpec run_;
    store::FaultyStore faulty_;
    std::string log_;
    bool may_lose_{false};
};

TEST(FaultyStore, NothingIsLostOrCountedTwice)
{
    Faults faults;
    faults.lost_request = faults.lost_reply = faults.delayed_create = 0.04;
    faults.stale_missing = faults.short_read = faults.corrupt_read = faults.unavailable = 0.02;
    int injected = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        FaultyRun run(faults, 400, seed);
        run.train({});
        run.expect_complete();
        injected += run.faulty().injected();
    }
    EXPECT_GT(injected, 10);
}

// The protocol gets an answer soon, even from an operation that gets none.
constexpr RoundExecutor::Limits short_limits{.record = Millis{100}, .payload = Millis{100}};

// An operation that ends after its limit still has its effect.
TEST(FaultyStore, NothingIsLostIfItIsSlow)
{
    std::vector<std::pair<double, Millis>> const cases{{0.5, short_limits.record / 10},
                                                       {0.05, short_limits.record * 3 / 2}};
    for (auto const& [share, delay] : cases) {
        SCOPED_TRACE(delay.count());
        Faults faults;
        faults.slow = share;
        faults.delay = delay;
        FaultyRun run(faults);
        run.train(short_limits);
        run.expect_complete();
        EXPECT_GT(run.faulty().injected(), 5);
    }
}

TEST(FaultyStore, NothingIsLostIfOperationsGetNoAnswer)
{
    Faults faults;
    faults.no_answer = 0.03;
    FaultyRun run(faults);
    run.allow_pauses();
    run.train(short_limits);
    run.expect_complete();
    EXPECT_GT(run.faulty().injected(), 3);
    EXPECT_THAT(run.log(), HasSubstr("the store does not answer"));
}

// The site stores the payload again, under the same name.
TEST(FaultyStore, NothingIsLostIfTheReplyToAWrittenPayloadIs)
{
    Faults faults;
    faults.lost_put_reply = 0.3;
    FaultyRun run(faults);
    run.train(short_limits);
    run.expect_complete();
    EXPECT_GT(run.faulty().injected(), 3);
    EXPECT_THAT(run.log(), HasSubstr("the store's reply was lost (injected); retrying"));
}

TEST(FaultyStore, TheRunGoesOnWhenAFullStoreHasSpaceAgain)
{
    FaultyRun run({}, 2'000);
    run.allow_pauses();
    run.train(short_limits, [&] {
        ASSERT_TRUE(curtail::test::eventually([&] { return run.height() >= 5; }, long_enough));
        Faults full;
        full.no_space = 1;
        run.faulty().set_faults(full);
        ASSERT_TRUE(
            curtail::test::eventually([&] { return run.faulty().injected() >= 20; }, long_enough))
            << "both sites try again and again";
        run.faulty().set_faults({});
    });
    run.expect_complete();
    EXPECT_THAT(run.log(), HasSubstr("the store is full (injected); retrying"));
}

TEST(FaultyStore, OneThatReplacesObjectsIsRefusedAtTheStart)
{
    store::MemoryStore objects;
    Faults faults;
    faults.ignored_condition = 1;
    store::FaultyStore faulty(objects, faults, 1);
    CountingSite a("A", fast_run(400), shared(faulty));
    auto const left = a.left();
    a.give_up();
    ASSERT_TRUE(left && left->error);
    EXPECT_EQ(left->code, ExitCode::protocol);
    EXPECT_THAT(left->error->message(), HasSubstr("a second time"));
    EXPECT_FALSE(objects.stat(*chain::object_name({"test"}, "run.json")).value());
}

}  // namespace
}  // namespace curtail::trainer
