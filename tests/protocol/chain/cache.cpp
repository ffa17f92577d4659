// SPDX-License-Identifier: Apache-2.0
// The cache of records: whatever is in it, the programs read the same chain from the store.
#include <fstream>
#include <random>

#include "protocol/chain/cache_fixture.hpp"
#include "support/faulty_store.hpp"

namespace curtail::chain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Cache, ASecondReadAsksTheStoreOnlyForTheEndOfTheChain)
{
    EXPECT_EQ(read(), run.chain());
    EXPECT_GE(counted.take(), 40);
    EXPECT_EQ(read(), run.chain());
    // The newest commit, the one after it, a listing of those after it, and run.json.
    EXPECT_EQ(counted.take(), 4);
    EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Cache, SeveralThreadsReadALongChainAndReportProgress)
{
    store::MemoryStore long_store;
    test::SmallRun long_run(long_store, {"small"}, 2000);
    long_run.make_lone(600);
    curtail::test::CountingStore counting(long_store);
    std::int64_t done = 0;
    std::int64_t total = 0;
    auto reporting = settings();
    reporting.progress = [&](std::int64_t now, std::int64_t all) {
        done = std::max(done, now);
        total = all;
    };
    {
        RecordCache cache(reporting, address, {"small"});
        EXPECT_EQ(read_chain({counting, {"small"}, &cache}, Check::rules).value(),
                  long_run.chain());
    }
    EXPECT_EQ(total, 599);
    EXPECT_EQ(done, 599);
    counting.take();
    EXPECT_EQ(read(counting), long_run.chain());
    EXPECT_EQ(counting.take(), 4);
    ASSERT_TRUE(long_store.put(object(300), store::bytes_of("{}")));
    RecordCache none({}, address, {"small"});
    auto const broken = read_chain({counting, {"small"}, &none}, Check::links);
    ASSERT_FALSE(broken);
    EXPECT_THAT(broken.error().message(), HasSubstr("commits/00000300.json"));
}

TEST_F(Cache, NewCommitsAreReadOnce)
{
    (void)read();
    for (int more = 0; more < 5; ++more) run.continue_lone();
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_LE(counted.take(), 20);
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
}

TEST_F(Cache, TheSearchForTheNewestCommitBeginsAtTheCachedOne)
{
    auto const newest = [&] {
        RecordCache cache(settings(), address, run.spec().run);
        return newest_commit({counted, run.spec().run, &cache}).value().value();
    };
    EXPECT_EQ(newest(), run.tip());
    counted.take();
    EXPECT_EQ(newest(), run.tip());
    EXPECT_EQ(counted.take(), 2);
    for (int more = 1; more <= 40; ++more) {
        run.continue_lone();
        EXPECT_EQ(newest(), run.tip());
        EXPECT_LE(counted.take(), 3);
    }
}

TEST_F(Cache, AnyFlippedBitOfTheFileChangesNothing)
{
    (void)read();
    auto const good = *read_file(file());
    std::mt19937 random(1);
    for (int i = 0; i < 400; ++i) {
        auto bad = good;
        auto const place = i < 100 ? static_cast<std::size_t>(i) : random() % bad.size();
        bad[place] = static_cast<char>(bad[place] ^ (1 << (random() % 8)));
        std::ofstream(file()) << bad;
        ASSERT_EQ(read(), run.chain()) << "byte " << place;
        ASSERT_EQ(read(), run.chain()) << "byte " << place << ", a second time";
    }
    std::ofstream(file()) << good;
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
}

TEST_F(Cache, ADamagedRecordIsReadAgainOnce)
{
    (void)read();
    auto bad = *read_file(file());
    auto const at = bad.find("\"number\":20,");
    ASSERT_NE(at, bad.npos);
    bad[at + 10] = '9';
    std::ofstream(file()) << bad;
    counted.take();
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 5);
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
}

TEST_F(Cache, AFileCutOffAnywhereIsContinued)
{
    (void)read();
    auto const size = fs::file_size(file());
    for (std::uintmax_t length = 0; length < size; length += 1 + length / 7) {
        fs::resize_file(file(), length);
        ASSERT_EQ(read(), run.chain()) << length;
        counted.take();
        ASSERT_EQ(read(), run.chain()) << length;
        ASSERT_EQ(counted.take(), 4) << length;
    }
    EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Cache, AForeignFileStaysAsItIs)
{
    (void)read();
    for (std::string const& foreign :
         {std::string("my notes\n"), std::string("curtail records 2 0123456789abcdef\nx"),
          std::string(1000, '\0'), std::string("curtail records 1 0123456789abcdef, and more")}) {
        std::ofstream(file()) << foreign;
        warnings.clear();
        EXPECT_EQ(read(), run.chain());
        EXPECT_EQ(*read_file(file()), foreign);
        EXPECT_THAT(warnings, ElementsAre(HasSubstr("remove it")));
    }
}

TEST_F(Cache, AnythingInPlaceOfTheFileOrFolderIsLeftAlone)
{
    (void)read();
    auto const path = file();
    std::ofstream(folder / "victim") << "precious";
    fs::remove(path);
    fs::create_symlink(folder / "victim", path);
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(*read_file(folder / "victim"), "precious");
    fs::remove(path);
    fs::create_symlink(folder / "nothing", path);
    EXPECT_EQ(read(), run.chain());
    EXPECT_FALSE(fs::exists(folder / "nothing"));
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(read(), run.chain());
    fs::remove(path);
    fs::create_directory(path);
    EXPECT_EQ(read(), run.chain());
    fs::remove_all(folder / "cache");
    std::ofstream(folder / "cache") << "a file";
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(warnings.size(), 5U);
}

TEST_F(Cache, WithoutAFolderNothingIsKept)
{
    RecordCache none({}, address, run.spec().run);
    for (int i = 0; i < 2; ++i) {
        counted.take();
        EXPECT_EQ(read_chain({counted, run.spec().run, &none}, Check::links).value(), run.chain());
        EXPECT_GE(counted.take(), 40);
    }
}

TEST_F(Cache, TheCacheOfAnotherRunUnderTheSameNameChangesNothing)
{
    (void)read();
    store::MemoryStore others;
    for (std::int64_t const length : {1, 20, 40, 60}) {
        test::SmallRun other(others, {"small"}, 300);
        other.make_lone(length);
        curtail::test::CountingStore counting(others);
        EXPECT_EQ(read(counting), other.chain());
        EXPECT_EQ(read(counting), other.chain());
        counting.take();
        EXPECT_EQ(read(counting), other.chain());
        EXPECT_LE(counting.take(), 16) << length;
        for (auto const& name : others.names()) ASSERT_TRUE(others.remove(name));
        EXPECT_EQ(read(), run.chain());
    }
}

TEST_F(Cache, AChainThatWasShortenedIsReadAsItIs)
{
    (void)read();
    auto const whole = run.chain();
    for (std::int64_t number = 40; number > 0; --number) {
        ASSERT_TRUE(objects.remove(object(number)));
        EXPECT_EQ(read(), std::vector(whole.begin(), whole.begin() + (number - 1)));
    }
}

TEST_F(Cache, ADamagedNewestCommitIsAnErrorAlthoughTheCacheHasIt)
{
    (void)read();
    ASSERT_TRUE(objects.put(object(40), store::bytes_of("{}")));
    RecordCache cache(settings(), address, run.spec().run);
    RunObjects const all{counted, run.spec().run, &cache};
    EXPECT_EQ(read_chain(all, Check::links).error().code, ExitCode::protocol);
    EXPECT_EQ(newest_commit(all).error().code, ExitCode::protocol);
}

TEST_F(Cache, OnlyVerificationNoticesThatTheStoreLostAnOldCommit)
{
    (void)read();
    ASSERT_TRUE(objects.remove(object(20)));
    EXPECT_EQ(read(), run.chain());
    RecordCache cache(settings(), address, run.spec().run);
    auto const verified = verify_run({counted, run.spec().run, &cache});
    ASSERT_FALSE(verified);
    EXPECT_THAT(verified.error().message(), HasSubstr("commits/00000020.json is missing"));
}

TEST_F(Cache, VerificationReadsEveryRecordFromTheStoreAndFillsTheCache)
{
    auto const verify = [&] {
        RecordCache cache(settings(), address, run.spec().run);
        auto const verified = verify_run({counted, run.spec().run, &cache});
        ASSERT_TRUE(verified) << verified.error().message();
        EXPECT_EQ(verified->warning, "");
    };
    verify();
    auto const cold = counted.take();
    EXPECT_GT(cold, 40 + 38) << "commits and models";
    EXPECT_EQ(read(), run.chain());
    EXPECT_EQ(counted.take(), 4);
    verify();
    EXPECT_GE(counted.take(), cold);
}

TEST_F(Cache, VerificationWarnsOnceIfTheNewestCommitsWereRemovedOrReplaced)
{
    (void)read();
    auto const warning = [&](store::ObjectStore& store) {
        RecordCache cache(settings(), address, run.spec().run);
        return verify_run({store, run.spec().run, &cache}).value().warning;
    };
    ASSERT_TRUE(objects.remove(object(40)));
    EXPECT_THAT(warning(objects), HasSubstr("once read commit 40"));
    EXPECT_EQ(warning(objects), "");
    store::MemoryStore others;
    test::SmallRun other(others, {"small"}, 300);
    other.make_lone(45);
    EXPECT_THAT(warning(others), HasSubstr("another commit 39"));
    EXPECT_EQ(warning(others), "");
}

TEST_F(Cache, FaultsOfTheStoreNeverReachTheCache)
{
    (void)read();
    for (int more = 0; more < 10; ++more) run.continue_lone();
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        store::FaultyStore faulty(
            objects, {.stale_missing = 0.05, .unlisted = 0.5, .corrupt_read = 0.05}, seed);
        RecordCache cache(settings(), address, run.spec().run);
        auto const chain = read_chain({faulty, run.spec().run, &cache}, Check::links);
        if (!chain) continue;
        ASSERT_LE(chain->size(), run.chain().size());
        ASSERT_TRUE(std::equal(chain->begin(), chain->end(), run.chain().begin())) << seed;
    }
    EXPECT_EQ(read(), run.chain());
}

}  // namespace
}  // namespace curtail::chain
