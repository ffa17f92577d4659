// SPDX-License-Identifier: Apache-2.0
// Lost, damaged and foreign commits of a run without running sites, in each type of store.
#include "operate/repair_chain.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "operate/run_record.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/each_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::operate {
namespace {

using chain::test::SmallRun;
using protocol::Ranges;
using testing::HasSubstr;

Ranges one(std::int64_t number) { return Ranges::between(number, number + 1); }

class RepairOfChain : public curtail::test::EachStore {
  protected:
    RepairOfChain()
        : address_(new_address()),
          store_(is("memory") ? new_store() : store::open_store(address_).value()),
          run_(*store_, {"small"}, 40)
    {
        run_.make();
    }
    void SetUp() override
    {
        for (std::int64_t n = 1; object_exists(n); ++n) {
            bytes_.push_back(objects().record(protocol::commit_name({n})).value().value());
            last_ = n;
        }
        ASSERT_GE(last_, 8);
        fill(copies_, last_);
    }
    void fill(chain::RecordCache& copies, std::int64_t last)
    {
        for (std::int64_t n = 1; n <= last; ++n) copies.add(protocol::commit_name({n}), bytes(n));
        copies.flush();
    }
    [[nodiscard]] std::string const& bytes(std::int64_t number) const
    {
        return bytes_.at(static_cast<std::size_t>(number) - 1);
    }
    [[nodiscard]] chain::RunObjects objects() { return {*store_, run_.spec().run}; }
    [[nodiscard]] store::ObjectName object(std::int64_t number) const
    {
        return *chain::object_name(run_.spec().run, protocol::commit_name({number}));
    }
    [[nodiscard]] bool object_exists(std::int64_t number)
    {
        auto const there = store_->stat(object(number));
        return !there || there->has_value();
    }
    [[nodiscard]] store::ObjectName run_json() const
    {
        return *chain::object_name(run_.spec().run, protocol::run_name);
    }
    void put(std::int64_t number, std::string const& content)
    {
        ASSERT_TRUE(store_->put(object(number), std::string_view(content)));
    }
    void put_status(std::int64_t tip)
    {
        auto const name = protocol::status_name({"B"});
        auto const status = protocol::encode(protocol::SiteStatus{run_.b(), {tip}, run_.now()});
        ASSERT_TRUE(store_->put(*chain::object_name(run_.spec().run, name),
                                std::string_view(status.bytes)));
    }
    void lose(std::int64_t first, std::int64_t last)
    {
        for (auto n = first; n <= last; ++n) ASSERT_TRUE(store_->remove(object(n)));
    }
    // An undamaged commit of the run that does not follow.
    [[nodiscard]] std::string unlinked(std::int64_t number) const
    {
        auto commit = run_.tip();
        commit.number = {number};
        commit.parent = sha256("another");
        return protocol::encode(commit).bytes;
    }
    [[nodiscard]] std::string of_another_run(std::int64_t number) const
    {
        auto commit = run_.tip();
        commit.number = {number};
        commit.run = {"another"};
        return protocol::encode(commit).bytes;
    }
    ChainPlan plan(chain::RecordCache& copies)
    {
        auto const plan = plan_chain_repair(objects(), copies, Millis{0});
        EXPECT_TRUE(plan) << plan.error().message();
        return plan.value_or(ChainPlan{});
    }
    ChainPlan plan() { return plan(copies_); }
    ChainPlan repair()
    {
        auto made = plan();
        EXPECT_FALSE(made.refusal) << made.refusal->message();
        auto const repaired = repair_chain(objects(), made);
        EXPECT_TRUE(repaired) << repaired.error().message();
        return made;
    }
    void expect_whole()
    {
        auto const chain = chain::read_chain(objects(), chain::Check::rules);
        ASSERT_TRUE(chain) << chain.error().message();
        EXPECT_EQ(std::ssize(*chain), last_);
        for (std::int64_t n = 1; n <= last_; ++n)
            EXPECT_EQ(objects().record(protocol::commit_name({n})).value().value(), bytes(n));
        EXPECT_EQ(plan(), (ChainPlan{.newest = {last_}}));
    }

    curtail::test::TemporaryFolder folder_;
    curtail::test::TemporaryFolder other_folder_;
    store::Address address_;
    std::unique_ptr<store::ObjectStore> store_;
    SmallRun run_;
    chain::RecordCache copies_{{folder_.path()}, store::Address{.url = "s3://bucket"}, {"small"}};
    chain::RecordCache other_copies_{
        {other_folder_.path()}, store::Address{.url = "s3://bucket"}, {"small"}};
    std::vector<std::string> bytes_;
    std::int64_t last_{0};
};

TEST_P(RepairOfChain, CreatesLostCommitsAgain)
{
    for (auto const& [first, last] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {4, 4}, {last_, last_}, {2, last_ - 1}, {5, last_}, {1, last_}}) {
        lose(first, last);
        auto const made = repair();
        EXPECT_EQ(std::ssize(made.restored), last - first + 1);
        EXPECT_TRUE(made.lost.empty());
        expect_whole();
    }
}

TEST_P(RepairOfChain, ReplacesDamagedCommits)
{
    for (auto const number : {std::int64_t{1}, std::int64_t{5}, last_})
        for (auto const& bad :
             {std::string("{}"), std::string(), bytes(number).substr(0, bytes(number).size() / 2),
              bytes(number) + "x", bytes(3), of_another_run(number), unlinked(number),
              std::string(R"({"format":99})")}) {
            SCOPED_TRACE(std::to_string(number) + " " + bad.substr(0, 60));
            // The newest commit may belong to a chain that another version has continued.
            bool const newer = bad.starts_with(R"({"format)") && number == last_;
            put(number, bad);
            auto const made = plan();
            EXPECT_EQ(made.refusal.has_value(), newer);
            if (newer) {
                put(number, bytes(number));
                continue;
            }
            EXPECT_EQ(made.replaced, one(number));
            EXPECT_TRUE(made.foreign.empty());
            ASSERT_TRUE(repair_chain(objects(), made));
            expect_whole();
        }
}

// Only a file system has folders and links, and lets a test write such names.
class RepairInFolder : public RepairOfChain {};

TEST_P(RepairInFolder, ReplacesWhatIsNoFile)
{
    auto const root = std::filesystem::path(address_.url.substr(sizeof "file://" - 1));
    for (auto const number : {std::int64_t{1}, std::int64_t{5}, last_})
        for (bool const link : {false, true}) {
            auto const path = root / object(number).text();
            std::filesystem::remove(path);
            if (link) std::filesystem::create_symlink("00000002.json", path);
            else std::filesystem::create_directory(path);
            EXPECT_EQ(repair().replaced, one(number)) << number << link;
            expect_whole();
        }
}

TEST_P(RepairInFolder, LooksAtNoNameThatNoCommitCanHave)
{
    auto const root = std::filesystem::path(address_.url.substr(sizeof "file://" - 1));
    auto const folder = (root / object(1).text()).parent_path();
    for (char const* name : {"123456789.json", "1234567890123456789.json", "5.json", "x.json"})
        std::filesystem::copy_file(root / object(1).text(), folder / name);
    expect_whole();
}

TEST_P(RepairOfChain, SaysWhichCommitsHaveNoCopy)
{
    other_copies_.add(protocol::commit_name({3}), bytes(3));
    other_copies_.flush();
    lose(3, 4);
    lose(6, 6);
    auto const made = plan(other_copies_);
    EXPECT_TRUE(made.restored.empty());
    EXPECT_EQ(made.lost, Ranges::between(3, 5) + one(6));
    EXPECT_EQ(made.newest, CommitNumber{last_});
}

TEST_P(RepairOfChain, RestoresThePartThatLaterCommitsProve)
{
    for (std::int64_t n = 5; n <= last_; ++n)
        other_copies_.add(protocol::commit_name({n}), bytes(n));
    other_copies_.flush();
    lose(3, 6);
    auto const made = plan(other_copies_);
    EXPECT_EQ(std::ssize(made.restored), 2);
    EXPECT_EQ(made.lost, Ranges::between(3, 5));
}

TEST_P(RepairOfChain, RemovesNoDamagedCommitWithoutACopy)
{
    for (auto const number : {std::int64_t{1}, std::int64_t{5}, last_})
        for (auto const& bad : {std::string("{}"), std::string(), bytes(number).substr(0, 100),
                                bytes(number) + "x", unlinked(number)}) {
            SCOPED_TRACE(std::to_string(number) + " " + bad.substr(0, 60));
            put(number, bad);
            auto const made = plan(other_copies_);
            EXPECT_TRUE(made.foreign.empty());
            EXPECT_TRUE(made.restored.empty());
            EXPECT_EQ(made.damaged, one(number));
            ASSERT_TRUE(repair_chain(objects(), made));
            EXPECT_TRUE(object_exists(number));
            put(number, bytes(number));
        }
}

TEST_P(RepairOfChain, RefusesAnotherHistory)
{
    auto const other_store = new_store();
    SmallRun other(*other_store, {"small"}, 41);
    other.make();
    chain::RunObjects const others(*other_store, {"small"});
    for (std::int64_t n = 1; n <= last_; ++n)
        other_copies_.add(protocol::commit_name({n}),
                          others.record(protocol::commit_name({n})).value().value());
    other_copies_.flush();
    for (auto const kept : {last_, last_ - 1, std::int64_t{4}}) {
        lose(kept + 1, last_);
        auto const made = plan(other_copies_);
        ASSERT_TRUE(made.refusal) << kept;
        EXPECT_EQ(made.refusal->code, ExitCode::protocol);
        EXPECT_THAT(made.refusal->message(), HasSubstr("does not belong to the copies"));
        EXPECT_THAT(made.refusal->message(), HasSubstr("curtail-store fork"));
        EXPECT_TRUE(made.restored.empty());
    }
}

// Sites have gone on from an older copy of the store. This one knows the commits that were lost.
TEST_P(RepairOfChain, RefusesANewerHistoryThatBeginsLater)
{
    auto const older = [&](std::int64_t last) {
        auto commit = protocol::decode_commit(bytes(last), protocol::commit_name({last})).value();
        commit.time += Millis{1};
        return protocol::encode(commit).bytes;
    };
    put(last_, older(last_));
    auto const made = plan();
    ASSERT_TRUE(made.refusal);
    EXPECT_THAT(made.refusal->message(), HasSubstr(protocol::commit_name({last_})));
    lose(last_, last_);
    put(last_ - 1, older(last_ - 1));
    EXPECT_TRUE(plan().refusal);
}

TEST_P(RepairOfChain, RemovesForeignObjectsOnly)
{
    for (auto const number : {last_ + 1, last_ + 16, std::int64_t{99'999'999}})
        for (auto const& bad : {std::string("{}"), std::string("no commit"), bytes(4),
                                of_another_run(number), unlinked(number)}) {
            SCOPED_TRACE(std::to_string(number) + " " + bad.substr(0, 60));
            put(number, bad);
            auto const made = repair();
            EXPECT_EQ(made.foreign, one(number));
            EXPECT_FALSE(object_exists(number));
            expect_whole();
        }
}

TEST_P(RepairOfChain, RemovesNothingOfWhichOthersMayKnow)
{
    fill(other_copies_, last_ - 2);
    auto const expect_kept = [&](chain::RecordCache& copies, std::int64_t number) {
        auto const made = plan(copies);
        EXPECT_FALSE(made.refusal);
        EXPECT_TRUE(made.foreign.empty());
        EXPECT_TRUE((made.damaged + made.lost).contains(one(last_ + 1)));
        lose(number, number);
    };
    for (auto const number : {last_ + 1, last_ + 16}) {
        put(number, "{}");
        expect_kept(other_copies_, number);
        put(number, unlinked(number));
        expect_kept(other_copies_, number);
    }
    // The write of the next commit may have failed halfway.
    put(last_ + 1, bytes(last_).substr(0, 100));
    expect_kept(copies_, last_ + 1);
    put(last_ + 1, "");
    expect_kept(copies_, last_ + 1);
    put_status(last_ + 1);
    for (auto const& bad : {std::string("{}"), of_another_run(last_ + 1), unlinked(last_ + 1)}) {
        put(last_ + 1, bad);
        expect_kept(copies_, last_ + 1);
    }
    EXPECT_EQ(plan().lost, one(last_ + 1)) << "the status of a site names it";
}

TEST_P(RepairOfChain, LeavesRecordsOfAnotherVersionAlone)
{
    for (auto const number : {last_ + 1, last_ + 16}) {
        put(number, R"({"format":99})");
        auto const made = plan();
        ASSERT_TRUE(made.refusal);
        EXPECT_EQ(made.refusal->code, ExitCode::data);
        EXPECT_THAT(made.refusal->message(), HasSubstr("it has format 99"));
        EXPECT_TRUE(made.foreign.empty());
        lose(number, number);
    }
}

TEST_P(RepairOfChain, TouchesNothingThatHasChangedMeanwhile)
{
    lose(5, 5);
    put(6, "{}");
    put(last_ + 1, "{}");
    auto const made = plan();
    put(5, "other");
    auto const created = repair_chain(objects(), made);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ExitCode::protocol);
    put(5, bytes(5));
    put(6, "other");
    EXPECT_EQ(repair_chain(objects(), made).error().code, ExitCode::temporary);
    put(6, bytes(6));
    put(last_ + 1, bytes(2));
    EXPECT_EQ(repair_chain(objects(), made).error().code, ExitCode::temporary);
    lose(last_ + 1, last_ + 1);
    ASSERT_TRUE(repair_chain(objects(), made));
    expect_whole();
}

TEST_P(RepairOfChain, RunsSeveralTimesAtOnce)
{
    lose(1, 2);
    lose(5, 5);
    put(4, "{}");
    put(last_ + 3, "{}");
    std::vector<std::jthread> threads(4);
    for (auto& thread : threads)
        thread = std::jthread([&] {
            auto const made = plan_chain_repair(objects(), copies_);
            ASSERT_TRUE(made) << made.error().message();
            EXPECT_FALSE(made->refusal);
            EXPECT_TRUE(made->lost.empty());
            EXPECT_TRUE(repair_chain(objects(), *made));
        });
    threads.clear();
    expect_whole();
}

TEST_P(RepairOfChain, NeedsRunJson)
{
    ASSERT_TRUE(store_->remove(run_json()));
    auto const made = plan_chain_repair(objects(), copies_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ExitCode::protocol);
    EXPECT_THAT(made.error().message(), HasSubstr("run.json is missing"));
    EXPECT_EQ(plan_chain_repair({*store_, {"none"}}, copies_).error().code, ExitCode::no_input);
}

// Commit 1 names the digest.
TEST_P(RepairOfChain, RestoresRunJsonFromACopy)
{
    auto const whole = objects().record(protocol::run_name).value().value();
    auto const sound = look_at_run_record(objects());
    ASSERT_TRUE(sound);
    EXPECT_EQ(sound->form, RunRecord::Form::good);
    EXPECT_EQ(sound->sha256, sha256(whole));
    for (auto const& bytes : {std::string(), std::string("{}"), whole.substr(0, 40)}) {
        ASSERT_TRUE(store_->remove(run_json()));
        if (!bytes.empty()) { ASSERT_TRUE(store_->put(run_json(), std::string_view(bytes))); }
        auto const found = look_at_run_record(objects());
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->form, bytes.empty() ? RunRecord::Form::missing : RunRecord::Form::damaged);
        EXPECT_EQ(found->sha256, sha256(whole));
        curtail::test::TemporaryFolder const empty;
        chain::RecordCache none({empty.path()}, sha256(whole), {"small"});
        EXPECT_EQ(restore_run_record(objects(), none, *found), false);
        copies_.add(protocol::run_name, whole);
        copies_.flush();
        EXPECT_EQ(restore_run_record(objects(), copies_, *found), true);
        EXPECT_EQ(objects().record(protocol::run_name).value(), whole);
    }
}

// A run that began again has other commits, too.
TEST_P(RepairOfChain, TakesNoOtherRunJsonForDamaged)
{
    auto other = run_.spec();
    other.seed += 1;
    ASSERT_TRUE(store_->put(run_json(), std::string_view(protocol::encode(other).bytes)));
    EXPECT_EQ(look_at_run_record(objects())->form, RunRecord::Form::good);
    lose(1, 1);
    ASSERT_TRUE(store_->remove(run_json()));
    EXPECT_EQ(look_at_run_record(objects())->sha256, Digest{}) << "nothing names it";
}

INSTANTIATE_TEST_SUITE_P(Each, RepairOfChain, curtail::test::every_store,
                         curtail::test::name_of_store);
INSTANTIATE_TEST_SUITE_P(Each, RepairInFolder, testing::Values("folder"),
                         curtail::test::name_of_store);

}  // namespace
}  // namespace curtail::operate
