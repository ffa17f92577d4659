// SPDX-License-Identifier: Apache-2.0
// Closings of a site's journal: one for each end, with the newest commit.
#include "run/journal/closing.hpp"

#include <gtest/gtest.h>

#include "protocol/chain/small_run.hpp"
#include "support/memory_store.hpp"

namespace curtail::journal {
namespace {

struct ClosingTest : testing::Test {
    ClosingTest() { run.make(); }
    void close(protocol::JournalHeads const& heads)
    {
        ASSERT_TRUE(close_journal(objects, run.spec().run, site, heads, Time{}, {}));
    }
    Result<std::optional<protocol::Closing>> newest()
    {
        return newest_closing(objects, run.spec().run, site);
    }

    store::MemoryStore objects;
    chain::test::SmallRun run{objects};
    SiteId site{"A"};
    protocol::JournalHeads const first{{"trainer", {3, sha256("three")}}};
    protocol::JournalHeads const later{{"trainer", {4, sha256("four")}}};
};

TEST_F(ClosingTest, NamesTheLastPiecesAndTheNewestCommit)
{
    EXPECT_EQ(newest().value(), std::nullopt);
    close(first);
    auto const closing = newest().value().value();
    EXPECT_EQ(closing.number, 1);
    EXPECT_EQ(closing.heads, first);
    ASSERT_TRUE(closing.commit);
    EXPECT_EQ(closing.commit->number, run.tip().number);
    EXPECT_EQ(closing.commit->sha256, protocol::encode(run.tip()).sha256);
    std::vector<Digest> commits;
    for (auto const& commit : run.chain()) commits.push_back(protocol::encode(commit).sha256);
    EXPECT_TRUE(fits(closing.commit, commits));
    commits.back() = sha256("another");
    EXPECT_FALSE(fits(closing.commit, commits));
    commits.pop_back();
    EXPECT_FALSE(fits(closing.commit, commits));
}

TEST_F(ClosingTest, IsMadeOnceForTheSamePieces)
{
    close(first);
    close(first);
    EXPECT_EQ(newest().value()->number, 1);
    close(later);
    EXPECT_EQ(newest().value()->number, 2);
    EXPECT_EQ(newest().value()->heads, later);
}

TEST_F(ClosingTest, FollowsADamagedOne)
{
    auto const name = *chain::object_name(run.spec().run, protocol::closing_name(site, 1));
    ASSERT_TRUE(objects.put(name, store::bytes_of("x")));
    EXPECT_FALSE(newest());
    close(first);
    ASSERT_TRUE(newest());
    EXPECT_EQ(newest().value()->number, 2);
}

}  // namespace
}  // namespace curtail::journal
