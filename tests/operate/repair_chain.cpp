// SPDX-License-Identifier: Apache-2.0
// Lost commits and foreign objects of a run without running sites, in each type of store.
#include "operate/repair_chain.hpp"

#include <gmock/gmock.h>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/each_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::operate {
namespace {

using chain::test::SmallRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RepairOfChain : public curtail::test::EachStore {
  protected:
    RepairOfChain() : store_(new_store()), run_(*store_, {"small"}, 40) { run_.make(); }
    void SetUp() override
    {
        for (std::int64_t n = 1; object_exists(n); ++n) {
            auto const bytes = objects().record(protocol::commit_name({n})).value().value();
            copies_.add(protocol::commit_name({n}), bytes);
            last_ = n;
        }
        copies_.flush();
        ASSERT_GE(last_, 8);
    }
    [[nodiscard]] chain::RunObjects objects() { return {*store_, run_.spec().run}; }
    [[nodiscard]] store::ObjectName object(std::int64_t number) const
    {
        return *chain::object_name(run_.spec().run, protocol::commit_name({number}));
    }
    [[nodiscard]] bool object_exists(std::int64_t number)
    {
        return store_->stat(object(number)).value().has_value();
    }
    void lose(std::int64_t first, std::int64_t last)
    {
        for (auto n = first; n <= last; ++n) ASSERT_TRUE(store_->remove(object(n)));
    }
    void expect_whole()
    {
        auto const chain = chain::read_chain(objects(), chain::Check::rules);
        ASSERT_TRUE(chain) << chain.error().message();
        EXPECT_EQ(std::ssize(*chain), last_);
    }

    curtail::test::TemporaryFolder folder_;
    std::unique_ptr<store::ObjectStore> store_;
    SmallRun run_;
    chain::RecordCache copies_{{folder_.path()}, store::Address{.url = "s3://bucket"}, {"small"}};
    std::int64_t last_{0};
};

TEST_P(RepairOfChain, CreatesLostCommitsAgain)
{
    for (auto const& [first, last] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {4, 4}, {last_, last_}, {2, last_ - 1}, {5, last_}, {1, last_}}) {
        lose(first, last);
        auto const repair = repair_chain(objects(), copies_);
        ASSERT_TRUE(repair) << repair.error().message();
        EXPECT_THAT(repair->restored, SizeIs(last - first + 1));
        EXPECT_THAT(repair->lost, IsEmpty());
        expect_whole();
    }
    auto const again = repair_chain(objects(), copies_);
    ASSERT_TRUE(again);
    EXPECT_THAT(again->restored, IsEmpty());
}

TEST_P(RepairOfChain, SaysWhichCommitsHaveNoCopy)
{
    curtail::test::TemporaryFolder folder;
    chain::RecordCache others({folder.path()}, store::Address{.url = "s3://bucket"}, {"small"});
    others.add(protocol::commit_name({3}),
               objects().record(protocol::commit_name({3})).value().value());
    others.flush();
    lose(3, 4);
    lose(6, 6);
    auto const repair = repair_chain(objects(), others);
    ASSERT_TRUE(repair);
    EXPECT_THAT(repair->restored, IsEmpty());
    EXPECT_THAT(repair->lost, ElementsAre(CommitNumber{3}, CommitNumber{4}, CommitNumber{6}));
}

TEST_P(RepairOfChain, CreatesNothingBesideAnotherHistory)
{
    curtail::test::TemporaryFolder folder;
    auto const other_store = new_store();
    SmallRun other(*other_store, {"small"}, 41);
    other.make();
    chain::RecordCache copies({folder.path()}, store::Address{.url = "s3://bucket"}, {"small"});
    chain::RunObjects const others(*other_store, {"small"});
    for (std::int64_t n = 1; n <= last_; ++n)
        copies.add(protocol::commit_name({n}),
                   others.record(protocol::commit_name({n})).value().value());
    copies.flush();
    lose(5, last_);
    auto const repair = repair_chain(objects(), copies);
    ASSERT_FALSE(repair);
    EXPECT_EQ(repair.error().code, ExitCode::protocol);
    EXPECT_THAT(repair.error().message(), HasSubstr("is not the one that this site has read"));
    EXPECT_FALSE(object_exists(5));
}

TEST_P(RepairOfChain, NamesAForeignObjectAndRemovesOnlyIt)
{
    for (auto const number : {last_ + 1, last_ + 50}) {
        ASSERT_TRUE(store_->put(object(number), std::string_view("{}")));
        auto const repair = repair_chain(objects(), copies_);
        ASSERT_TRUE(repair) << repair.error().message();
        EXPECT_THAT(repair->foreign, ElementsAre(CommitNumber{number}));
        EXPECT_THAT(repair->lost, IsEmpty());
        EXPECT_TRUE(object_exists(number)) << "only the user removes it";
        ASSERT_TRUE(remove_foreign(objects(), {number}));
        EXPECT_FALSE(object_exists(number));
        expect_whole();
    }
    auto const own = remove_foreign(objects(), {last_});
    ASSERT_FALSE(own);
    EXPECT_EQ(own.error().code, ExitCode::temporary);
    EXPECT_THAT(own.error().message(), HasSubstr("it is a commit of the run"));
    expect_whole();
}

INSTANTIATE_TEST_SUITE_P(Each, RepairOfChain, curtail::test::every_store,
                         curtail::test::name_of_store);

}  // namespace
}  // namespace curtail::operate
