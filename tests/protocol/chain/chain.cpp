// SPDX-License-Identifier: Apache-2.0
// Reading a run's chain from a store.
#include "protocol/chain/chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/chain/pending.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Chain : testing::Test {
    store::MemoryStore store;
    test::SmallRun run{store};
    RunObjects objects{store, run.spec().run};

    store::ObjectName object(std::string const& name) const
    {
        return *object_name(run.spec().run, name);
    }
    std::string content(std::string const& name) const
    {
        return objects.record(name).value().value();
    }
    void put(std::string const& name, std::string const& bytes)
    {
        ASSERT_TRUE(store.put(object(name), store::bytes_of(bytes)));
    }
    // The error of both checks, which must agree on the code.
    Error chain_error() const
    {
        auto const links = read_chain(objects, Check::links);
        auto const rules = read_chain(objects, Check::rules);
        EXPECT_FALSE(links);
        EXPECT_FALSE(rules);
        EXPECT_EQ(links.error().code, rules.error().code);
        return links.error();
    }
};

TEST(ObjectNameOfARun, IsUnderTheRunsPrefixOrRefused)
{
    EXPECT_EQ(object_name({"demo"}, "commits/00000001.json")->text(),
              "runs/demo/commits/00000001.json");
    EXPECT_EQ(object_name({"demo"}, "../other/run.json").error().code, ExitCode::protocol);
    EXPECT_EQ(object_name({"../demo"}, "run.json").error().code, ExitCode::protocol);
}

TEST(NewestCommit, IsFoundInChainsOfEveryLengthUpTo40)
{
    for (std::int64_t length = 1; length <= 40; ++length) {
        store::MemoryStore store;
        test::SmallRun run(store, {"small"}, 200);
        run.make_lone(length);
        RunObjects const objects{store, run.spec().run};
        auto const newest = newest_commit(objects);
        ASSERT_TRUE(newest) << newest.error().message();
        EXPECT_EQ(**newest, run.tip()) << length;
        auto const chain = read_chain(objects, Check::rules);
        ASSERT_TRUE(chain) << chain.error().message();
        EXPECT_EQ(*chain, run.chain()) << length;
    }
}

TEST_F(Chain, ARunThatHasNotStartedHasNone)
{
    EXPECT_EQ(newest_commit(objects).value(), std::nullopt);
    EXPECT_EQ(objects.spec().value(), std::nullopt);
    EXPECT_THAT(read_chain(objects, Check::links).value(), IsEmpty());
    EXPECT_THAT(read_chain(objects, Check::rules).value(), IsEmpty());
}

TEST_F(Chain, IsReadInOrder)
{
    run.make();
    for (auto const check : {Check::links, Check::rules})
        EXPECT_EQ(read_chain(objects, check).value(), run.chain());
    EXPECT_EQ(objects.spec().value(), run.spec());
    EXPECT_EQ(objects.commit({3}).value(), run.chain().at(2));
    EXPECT_EQ(objects.commit({9}).value(), std::nullopt);
}

TEST_F(Chain, AGapIsAnErrorThatNamesBothCommits)
{
    run.make();
    for (std::int64_t const missing : {1, 3, 7}) {
        auto const name = protocol::commit_name({missing});
        auto const good = content(name);
        ASSERT_TRUE(store.remove(object(name)));
        auto const error = chain_error();
        EXPECT_EQ(error.code, ExitCode::protocol);
        EXPECT_THAT(error.message(), HasSubstr(name));
        EXPECT_THAT(error.message(), HasSubstr(" is missing, but commits/00000008.json exists"));
        put(name, good);
    }
    EXPECT_TRUE(read_chain(objects, Check::rules));
    for (std::int64_t const missing : {3, 5, 6})
        ASSERT_TRUE(store.remove(object(protocol::commit_name({missing}))));
    EXPECT_THAT(chain_error().message(),
                HasSubstr("commits/00000003.json, commits/00000005.json to commits/00000006.json "
                          "are missing, but commits/00000008.json exists"));
}

TEST_F(Chain, ADamagedCommitIsAnErrorThatNamesIt)
{
    run.make();
    for (std::int64_t const number : {1, 4, 8}) {
        auto const name = protocol::commit_name({number});
        auto const good = content(name);
        auto bad = good;
        bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
        for (auto const& bytes : {bad, std::string("{}"), std::string(300'000, 'x')}) {
            put(name, bytes);
            auto const error = chain_error();
            EXPECT_EQ(error.code, ExitCode::protocol);
            EXPECT_THAT(error.message(), HasSubstr(name));
        }
        put(name, good);
    }
    put(protocol::commit_name({8}), "{}");
    EXPECT_EQ(newest_commit(objects).error().code, ExitCode::protocol);
}

TEST_F(Chain, ACommitOfAnotherRunIsRefused)
{
    run.make();
    test::SmallRun other(store, {"other"});
    other.make();
    auto const name = protocol::commit_name({5});
    put(name, RunObjects(store, {"other"}).record(name).value().value());
    EXPECT_EQ(chain_error().code, ExitCode::protocol);
}

TEST_F(Chain, ACommitThatFollowsTheRulesButNotItsParentIsRefused)
{
    run.make();
    auto commit = run.chain().at(4);
    commit.parent = sha256("another parent");
    put(protocol::commit_name({5}), protocol::encode(commit).bytes);
    EXPECT_THAT(chain_error().message(), HasSubstr(protocol::commit_name({5})));
}

TEST_F(Chain, OnlyTheCheckOfRulesComparesWithRunJson)
{
    run.make();
    ASSERT_TRUE(store.remove(object(protocol::run_name)));
    EXPECT_TRUE(read_chain(objects, Check::links));
    EXPECT_EQ(read_chain(objects, Check::rules).error().code, ExitCode::protocol);
}

TEST_F(Chain, OtherObjectsInTheStoreChangeNothing)
{
    run.make();
    test::SmallRun other(store, {"small2"}, 200);
    other.make_lone(20);
    ASSERT_TRUE(store.put(object("probe/A.00000001-1"), store::bytes_of("{}")));
    ASSERT_TRUE(store.put(object("models/99/B.00000002.3-1/w0.h5"), store::bytes_of("x")));
    EXPECT_EQ(read_chain(objects, Check::rules).value(), run.chain());
    EXPECT_EQ(newest_commit(objects).value(), run.tip());
    EXPECT_TRUE(verify_run(objects));
}

TEST_F(Chain, AStoreThatDoesNotAnswerIsNotADamagedRun)
{
    run.make();
    store::FaultyStore faulty(store, {.unavailable = 1}, 1);
    RunObjects const away{faulty, run.spec().run};
    EXPECT_EQ(newest_commit(away).error().code, ExitCode::temporary);
    EXPECT_EQ(read_chain(away, Check::links).error().code, ExitCode::temporary);
    EXPECT_EQ(objects.spec().value(), run.spec());
}

TEST_F(Chain, StaleAndDamagedReadsChangeNothingAndHideAtMostTheNewestCommit)
{
    run.make();
    int whole = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        store::FaultyStore faulty(
            store, {.stale_missing = 0.02, .corrupt_read = 0.02, .unavailable = 0.0001}, seed);
        auto const chain = read_chain({faulty, run.spec().run}, Check::links);
        if (chain) {
            ASSERT_GE(chain->size() + 1, run.chain().size()) << "seed " << seed;
            EXPECT_TRUE(std::equal(chain->begin(), chain->end(), run.chain().begin()));
            whole += chain->size() == run.chain().size() ? 1 : 0;
        } else {
            EXPECT_THAT(chain.error().code, testing::AnyOf(ExitCode::protocol, ExitCode::temporary))
                << "seed " << seed;
        }
    }
    EXPECT_GT(whole, 20);
    EXPECT_LT(whole, 200) << "no fault was injected";
}

TEST_F(Chain, APayloadIsComparedWithItsReference)
{
    run.make();
    auto part = run.tip().model.weights;
    auto const good = objects.payload(part);
    ASSERT_TRUE(good) << good.error().error.message();
    EXPECT_EQ(std::ssize(*good), part.bytes);
    EXPECT_EQ(objects.payload_facts(part.name).value()->sha256, part.sha256);
    part.sha256 = sha256("other");
    EXPECT_EQ(objects.payload(part).error().cause, store::ReadFailure::Cause::corrupt);
    part.name = "../../etc/passwd";
    EXPECT_EQ(objects.payload(part).error().cause, store::ReadFailure::Cause::corrupt);
    part.name = "models/99/A.00000001.2-1/w0.h5";
    EXPECT_EQ(objects.payload(part).error().cause, store::ReadFailure::Cause::missing);
}

TEST_F(Chain, PendingHeadersAndLeasesAreReadAroundDamagedOnes)
{
    run.make();
    put(protocol::header_name(run.a(), {6}), "{}");
    put(protocol::lease_name(run.tip().round, 2), "x");
    auto const pending = pending_headers(objects, run.tip().members.at(0)).value();
    ASSERT_EQ(pending.headers.size(), 1U);
    EXPECT_EQ(pending.headers[0].seq, Seq{5});
    EXPECT_THAT(pending.unreadable, ElementsAre(HasSubstr("/6.json")));
    auto const found = leases(objects, run.tip().round).value();
    EXPECT_EQ(found.newest.value().number, 1);
    EXPECT_THAT(found.unreadable, ElementsAre(HasSubstr("merge/")));
}

}  // namespace
}  // namespace curtail::chain
