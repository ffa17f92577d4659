// SPDX-License-Identifier: Apache-2.0
// Runs that continue from a commit of another run, started at any point and interrupted anywhere.
#include "operate/fork.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operate/ending_store.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "protocol/chain/sweep.hpp"
#include "protocol/records/names.hpp"
#include "support/each_store.hpp"

namespace curtail::operate {
namespace {

using testing::HasSubstr;

RunId const forked_run{"forked"};

class Fork : public testing::Test {
  protected:
    Fork() { run.make(); }
    [[nodiscard]] chain::RunObjects source() { return {from, run.spec().run}; }
    [[nodiscard]] chain::RunObjects forked() { return {to, forked_run}; }
    [[nodiscard]] protocol::RunSpec wanted() const
    {
        auto spec = run.spec();
        spec.run = forked_run;
        spec.manifest = {};
        spec.blocks_per_epoch = 0;
        spec.tensors = {};
        spec.epochs = 2;
        spec.seed = 99;
        spec.optimizer.lr_scale = 0.1;
        spec.params.keep_models = 7;
        spec.sites = {{"X"}, {"Y"}};
        return spec;
    }
    static store::ObjectName object(RunId const& run, std::string const& name)
    {
        return *chain::object_name(run, name);
    }
    void expect_untouched() { EXPECT_TRUE(to.names().empty()); }
    store::MemoryStore from;
    store::MemoryStore to;
    chain::test::SmallRun run{from};
};

TEST_F(Fork, FromTheNewestCommitVerifies)
{
    auto const made = fork_run(source(), to, wanted());
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->origin.number, run.tip().number);
    EXPECT_EQ(made->first.model, run.tip().model);
    EXPECT_EQ(made->first.outer, run.tip().outer);
    EXPECT_EQ(made->written, 4) << "weights, momentum, commit 1 and run.json";
    auto const verified = chain::verify_run(forked());
    ASSERT_TRUE(verified) << verified.error().message();
    EXPECT_EQ(verified->run.fork->run, run.spec().run);
    EXPECT_EQ(verified->run.manifest, run.spec().manifest);
    EXPECT_EQ(verified->run.epochs, 2);
    EXPECT_EQ(verified->tip.totals, run.tip().totals);
    EXPECT_EQ(verified->payloads, 2);
    EXPECT_EQ(to.names().size(), 4U) << "no probe remains";
}

TEST_F(Fork, OfACompleteRunContinuesWithMoreEpochs)
{
    store::MemoryStore whole;
    chain::test::SmallRun complete(whole, {"small"}, 10);
    complete.make_lone(2);
    while (!complete.tip().complete) complete.continue_lone();
    auto same = wanted();
    same.epochs = 1;
    auto const refused = fork_run({whole, {"small"}}, to, same);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::config);
    EXPECT_THAT(refused.error().message(), HasSubstr("used 10 blocks, and the fork would have 10"));
    ASSERT_TRUE(fork_run({whole, {"small"}}, to, wanted()));
    auto const verified = chain::verify_run(forked());
    ASSERT_TRUE(verified) << verified.error().message();
    EXPECT_FALSE(verified->tip.complete);
}

TEST_F(Fork, IntoTheSameStoreAndOfAForkWorks)
{
    ASSERT_TRUE(fork_run(source(), from, wanted()));
    auto again = wanted();
    again.run = {"third"};
    auto const made = fork_run({from, forked_run}, to, again);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->origin.run, forked_run);
    EXPECT_EQ(made->origin.number, CommitNumber{1});
    EXPECT_TRUE(chain::verify_run({to, {"third"}}));
}

TEST_F(Fork, CanBeCopiedAndSwept)
{
    ASSERT_TRUE(fork_run(source(), to, wanted()));
    store::MemoryStore archive;
    ASSERT_TRUE(copy_run(forked(), archive));
    auto const verified = chain::verify_run({archive, forked_run});
    ASSERT_TRUE(verified) << verified.error().message();
    auto const later = from_unix_ms(4'000'000'000'000);
    auto const plan = chain::plan_sweep({archive, forked_run}, later).value();
    EXPECT_EQ(plan.decisions.size(), 2U);
    for (auto const& decision : plan.decisions)
        EXPECT_FALSE(upkeep::is_deletion(decision.reason)) << decision.object.name;
}

TEST_F(Fork, FromAnUnknownCommitIsRefused)
{
    for (std::int64_t const number : {0, 9, 4000}) {
        auto const made = fork_run(source(), to, wanted(), {CommitNumber{number}});
        ASSERT_FALSE(made) << number;
        EXPECT_EQ(made.error().code, ExitCode::no_input);
        EXPECT_THAT(made.error().message(), HasSubstr("commits 1 to 8"));
    }
    EXPECT_EQ(fork_run({from, {"none"}}, to, wanted()).error().code, ExitCode::no_input);
    expect_untouched();
}

TEST_F(Fork, FromASweptCommitIsRefused)
{
    auto const made = fork_run(source(), to, wanted(), {CommitNumber{2}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ExitCode::no_input);
    EXPECT_THAT(made.error().message(), HasSubstr("no longer has the model of commit 2"));
    expect_untouched();
}

TEST_F(Fork, WithoutTheMomentumThatTheSourceLacksNeedsAnOption)
{
    auto const& momentum = run.tip().outer->momentum.name;
    ASSERT_TRUE(from.remove(object(run.spec().run, momentum)));
    auto const made = fork_run(source(), to, wanted());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ExitCode::no_input);
    EXPECT_THAT(made.error().message(), HasSubstr("--reset-momentum"));
    expect_untouched();
    auto const reset = fork_run(source(), to, wanted(), {{}, true});
    ASSERT_TRUE(reset) << reset.error().message();
    EXPECT_FALSE(reset->first.outer);
    EXPECT_TRUE(chain::verify_run(forked()));
}

TEST_F(Fork, FromADamagedSourceIsRefused)
{
    std::vector<std::string> const names{run.tip().model.weights.name,
                                         run.tip().outer->momentum.name, protocol::commit_name({5}),
                                         protocol::run_name};
    for (auto const& name : names) {
        auto const where = object(run.spec().run, name);
        auto const good = from.get(where, {1 << 20}).value().value();
        auto bad = good;
        bad[bad.size() / 2] ^= std::byte{1};
        ASSERT_TRUE(from.put(where, bad));
        store::MemoryStore fresh;
        auto const made = fork_run(source(), fresh, wanted());
        ASSERT_FALSE(made) << name;
        EXPECT_EQ(made.error().code, ExitCode::protocol) << name;
        EXPECT_FALSE(chain::read_run(chain::RunObjects(fresh, forked_run).source())) << name;
        ASSERT_TRUE(from.put(where, good));
    }
}

// Every state of the chain in which an error message names a fork.
TEST_F(Fork, OfANamedCommitNeedsNoOtherCommit)
{
    auto const put = [&](std::int64_t number, std::string const& bytes) {
        auto const name = object(run.spec().run, protocol::commit_name({number}));
        if (bytes.empty()) return from.remove(name).has_value();
        return from.put(name, std::string_view(bytes)).has_value();
    };
    auto other = run.tip();
    other.number = run.tip().number.next();
    auto const tip = run.tip().number.value;
    for (auto const& [number, bytes] : std::vector<std::pair<std::int64_t, std::string>>{
             {5, ""},
             {1, ""},
             {tip - 1, ""},
             {5, "{}"},
             {5, R"({"format":99})"},
             {tip + 1, "{}"},
             {tip + 16, "{}"},
             {tip + 1, protocol::encode(other).bytes}}) {
        SCOPED_TRACE(std::to_string(number) + bytes.substr(0, 40));
        auto const good = number <= tip ? source().record(protocol::commit_name({number})) : "";
        ASSERT_TRUE(put(number, bytes));
        store::MemoryStore fresh;
        auto const unnamed = fork_run(source(), fresh, wanted());
        ASSERT_FALSE(unnamed);
        EXPECT_EQ(unnamed.error().code,
                  number <= tip && bytes.size() > 2 ? ExitCode::data : ExitCode::protocol);
        EXPECT_THAT(unnamed.error().message(), HasSubstr("--commit"));
        EXPECT_TRUE(fresh.names().empty());
        auto const named = fork_run(source(), fresh, wanted(), {CommitNumber{tip}});
        ASSERT_TRUE(named) << named.error().message();
        EXPECT_TRUE(named->fault);
        EXPECT_EQ(named->first.model, run.tip().model);
        EXPECT_TRUE(chain::verify_run({fresh, forked_run}));
        ASSERT_TRUE(put(number, good.value().value_or("")));
    }
    ASSERT_TRUE(put(tip, ""));
    EXPECT_FALSE(fork_run(source(), to, wanted()).value().fault) << "the newest commit is lost";
}

TEST_F(Fork, OfANamedCommitThatIsBadIsRefused)
{
    auto const name = object(run.spec().run, protocol::commit_name({5}));
    auto of_another = run.tip();
    of_another.number = {5};
    of_another.run = {"another"};
    for (auto const& bytes : {std::string("{}"), protocol::encode(of_another).bytes}) {
        ASSERT_TRUE(from.put(name, std::string_view(bytes)));
        auto const made = fork_run(source(), to, wanted(), {CommitNumber{5}});
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, ExitCode::protocol);
    }
    ASSERT_TRUE(from.remove(name));
    auto const missing = fork_run(source(), to, wanted(), {CommitNumber{5}});
    EXPECT_EQ(missing.error().code, ExitCode::no_input);
    expect_untouched();
}

TEST_F(Fork, MustKeepModelDataAndBlocks)
{
    auto shape = wanted();
    shape.model = {{"layers", 3}};
    EXPECT_THAT(fork_run(source(), to, shape).error().message(), HasSubstr("another shape"));
    auto blocks = wanted();
    blocks.params.block_tokens = {16};
    EXPECT_THAT(fork_run(source(), to, blocks).error().message(),
                HasSubstr("rounds.block_tokens is 8 in the source and 16"));
    auto const data = fork_run(source(), to, wanted(), {{}, false, sha256("other data")});
    EXPECT_THAT(data.error().message(), HasSubstr("names other data"));
    auto small = wanted();
    small.budget = Tokens{8};
    EXPECT_THAT(fork_run(source(), to, small).error().message(),
                HasSubstr("raise training.tokens"));
    auto large = wanted();
    large.budget = Tokens{100'000};
    EXPECT_THAT(fork_run(source(), to, large).error().message(), HasSubstr("raise data.epochs"));
    for (auto const& spec : {shape, blocks, small, large})
        EXPECT_EQ(fork_run(source(), to, spec).error().code, ExitCode::config);
    expect_untouched();
}

TEST_F(Fork, IntoAStoreWithAnotherRunOfThisNameWritesNothing)
{
    chain::test::SmallRun other(to, forked_run, 99);
    other.make_lone(3);
    auto const before = to.names();
    auto const made = fork_run(source(), to, wanted());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ExitCode::protocol);
    EXPECT_THAT(made.error().message(), HasSubstr("another run forked: its run.json"));
    EXPECT_EQ(to.names(), before);
}

TEST_F(Fork, EndedAfterAnyWriteIsNoRunAndCanBeResumed)
{
    int ended = 0;
    for (int writes = 0;; ++writes) {
        store::MemoryStore partial;
        test::EndingStore ending(partial, writes);
        bool const complete = fork_run(source(), ending, wanted()).has_value();
        chain::RunObjects const objects(partial, forked_run);
        EXPECT_EQ(objects.spec().value().has_value(), complete);
        auto const first = objects.commit({1}).value();
        auto const resumed = fork_run(source(), partial, wanted());
        ASSERT_TRUE(resumed) << resumed.error().message();
        EXPECT_EQ(resumed->existed, complete);
        if (first) { EXPECT_EQ(resumed->first, *first) << "a record never changes"; }
        ASSERT_TRUE(chain::verify_run(objects)) << writes;
        if (complete) break;
        ++ended;
    }
    EXPECT_EQ(ended, 5) << "four objects and a probe";
}

TEST_F(Fork, ResumedWithOtherSettingsIsRefused)
{
    test::EndingStore ending(to, 4);
    ASSERT_FALSE(fork_run(source(), ending, wanted()));
    ASSERT_TRUE(forked().commit({1}).value());
    auto other = wanted();
    other.epochs = 3;
    auto const made = fork_run(source(), to, other);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr("use the same run file and commit"));
    EXPECT_FALSE(forked().spec().value());
}

TEST_F(Fork, ADamagedPayloadOfAnInterruptedForkIsReplaced)
{
    test::EndingStore ending(to, 2);
    ASSERT_FALSE(fork_run(source(), ending, wanted()));
    auto const name = object(forked_run, run.tip().model.weights.name);
    auto content = to.get(name, {1 << 20}).value().value();
    content[100] ^= std::byte{1};
    ASSERT_TRUE(to.put(name, content));
    ASSERT_TRUE(fork_run(source(), to, wanted()));
    EXPECT_TRUE(chain::verify_run(forked()));
}

class ForkBetween : public curtail::test::EachStore {};

TEST_P(ForkBetween, StoresOfEachType)
{
    auto const from = new_store();
    auto const to = new_store();
    chain::test::SmallRun run(*from);
    run.make();
    auto wanted = run.spec();
    wanted.run = forked_run;
    ASSERT_TRUE(fork_run({*from, run.spec().run}, *to, wanted));
    EXPECT_TRUE(fork_run({*from, run.spec().run}, *to, wanted)->existed);
    auto const verified = chain::verify_run({*to, forked_run});
    ASSERT_TRUE(verified) << verified.error().message();
}

TEST(ForkOfFolder, LinksInPlaceOfACommitDoNotStopIt)
{
    curtail::test::TemporaryFolder folder;
    auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
    chain::test::SmallRun run(*store);
    run.make();
    auto const path = folder.path() / "runs/small/commits/00000005.json";
    std::filesystem::remove(path);
    std::filesystem::create_symlink("00000004.json", path);
    auto wanted = run.spec();
    wanted.run = forked_run;
    wanted.epochs = 2;
    auto const unnamed = fork_run({*store, {"small"}}, *store, wanted);
    ASSERT_FALSE(unnamed);
    EXPECT_THAT(unnamed.error().remedy, HasSubstr("--commit 8"));
    ASSERT_TRUE(fork_run({*store, {"small"}}, *store, wanted, {CommitNumber{8}}));
}

INSTANTIATE_TEST_SUITE_P(Each, ForkBetween, curtail::test::every_store,
                         curtail::test::name_of_store);

}  // namespace
}  // namespace curtail::operate
