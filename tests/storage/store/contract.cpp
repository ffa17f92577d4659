// SPDX-License-Identifier: Apache-2.0
// The contract of ObjectStore, tested with every implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "storage/store/posix_store.hpp"
#include "storage/store/verified.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_store.hpp"
#include "support/rgw.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

// One server for all tests of this file. Each test has a prefix of its own.
class Storage {
  public:
    Address new_prefix()
    {
        return {
            .url = "s3://" + bucket_ + "/test-" + std::to_string(++tests_),
            .access = {.endpoint = rgw_.endpoint(), .credentials = {.file = rgw_.credentials()}}};
    }

  private:
    test::Rgw rgw_;
    std::string bucket_{rgw_.make_bucket("stores")};
    int tests_{0};
};
std::unique_ptr<Storage> storage;

// A store and what it needs.
struct Fixture {
    test::TemporaryFolder folder;
    std::unique_ptr<ObjectStore> inner;
    std::unique_ptr<ObjectStore> store;
};
using MakeStore = void (*)(Fixture&);
struct Implementation {
    char const* name;
    MakeStore make;
};

void make_memory(Fixture& f) { f.store = std::make_unique<MemoryStore>(); }
void make_posix(Fixture& f) { f.store = *PosixStore::open(f.folder.path(), IfMissing::refuse); }
void make_stepwise(Fixture& f)
{
    f.store = *PosixStore::open(f.folder.path(), IfMissing::refuse, Lookup::stepwise);
}
void make_s3(Fixture& f)
{
    if (!storage) storage = std::make_unique<Storage>();
    f.store = *open_store(storage->new_prefix());
}
void make_faultless(Fixture& f)
{
    f.inner = std::make_unique<MemoryStore>();
    f.store = std::make_unique<FaultyStore>(*f.inner, Faults{}, 1);
}
// A slow store keeps every promise.
void make_slow(Fixture& f)
{
    f.inner = std::make_unique<MemoryStore>();
    f.store = std::make_unique<FaultyStore>(*f.inner, Faults{.slow = 0.5, .delay = Millis{2}}, 1);
}

class Store : public testing::TestWithParam<Implementation> {
  protected:
    static void TearDownTestSuite() { storage.reset(); }
    Store() { GetParam().make(fixture_); }
    ObjectStore& store() { return *fixture_.store; }
    std::optional<std::string> text_at(ObjectName const& name)
    {
        auto const content = store().get(name, {1 << 20});
        if (!content) throw std::runtime_error(content.error().message());
        if (!*content) return std::nullopt;
        return std::string(text_of(**content));
    }

  private:
    Fixture fixture_;
};

ObjectName commit(int number)
{
    return *ObjectName::parse("runs/r/commits/" + std::to_string(10'000'000 + number) + ".json");
}
ObjectName const payload = *ObjectName::parse("runs/r/models/1/A.0123abcd.1-1/w.h5");

Content random_content(std::size_t size, unsigned seed)
{
    std::mt19937 random(seed);
    Content content(size);
    for (auto& b : content) b = static_cast<std::byte>(random());
    return content;
}

TEST_P(Store, TheFirstCreateWinsAndLaterOnesChangeNothing)
{
    EXPECT_EQ(text_at(commit(1)), std::nullopt);
    EXPECT_EQ(*store().create(commit(1), bytes_of("first")), CreateOutcome::created);
    EXPECT_EQ(*store().create(commit(1), bytes_of("second")), CreateOutcome::exists);
    EXPECT_EQ(text_at(commit(1)), "first");
    EXPECT_EQ(text_at(commit(2)), std::nullopt);
}

TEST_P(Store, ExactlyOneOfManyThreadsCreatesAndItsBytesAreStored)
{
    constexpr int threads = 8;
    constexpr int objects = 40;
    std::vector<std::vector<int>> winners(objects);
    std::mutex mutex;
    std::vector<std::thread> all;
    all.reserve(threads);
    std::atomic<int> ready{0};
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (++ready; ready < threads;) std::this_thread::yield();
            for (int n = 0; n < objects; ++n) {
                auto const outcome =
                    store().create(commit(n), bytes_of("writer " + std::to_string(t)));
                if (!outcome || *outcome != CreateOutcome::created) continue;
                std::lock_guard const guard(mutex);
                winners[static_cast<std::size_t>(n)].push_back(t);
            }
        });
    for (auto& thread : all) thread.join();
    for (int n = 0; n < objects; ++n) {
        auto const& won = winners[static_cast<std::size_t>(n)];
        ASSERT_EQ(won.size(), 1U) << "object " << n;
        EXPECT_EQ(text_at(commit(n)), "writer " + std::to_string(won[0]));
    }
}

TEST_P(Store, PutReplacesAndCreateDoesNot)
{
    ASSERT_TRUE(store().put(payload, bytes_of("one")));
    ASSERT_TRUE(store().put(payload, bytes_of("two, longer")));
    EXPECT_EQ(text_at(payload), "two, longer");
    EXPECT_EQ(*store().create(payload, bytes_of("x")), CreateOutcome::exists);
}

TEST_P(Store, KeepsEveryByteOfAnySize)
{
    for (std::size_t const size :
         {0UL, 1UL, 4096UL, (1UL << 20) - 1, 1UL << 20, (1UL << 20) + 1, 3'600'000UL}) {
        auto const content = random_content(size, static_cast<unsigned>(size));
        ASSERT_TRUE(store().put(payload, content));
        auto const back = store().get(payload, {1 << 23});
        ASSERT_TRUE(back) << back.error().message();
        EXPECT_TRUE(**back == content) << size;
        EXPECT_EQ((*store().stat(payload))->size.value, static_cast<std::int64_t>(size));
    }
}

TEST_P(Store, TheLimitIsExact)
{
    ASSERT_TRUE(store().put(payload, bytes_of("12345")));
    EXPECT_TRUE(store().get(payload, {5}));
    auto const refused = store().get(payload, {4});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::data);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("5 bytes, the limit is 4"));
}

TEST_P(Store, ARemovedObjectIsMissingAndRemovingItAgainSucceeds)
{
    EXPECT_TRUE(store().remove(payload));
    ASSERT_TRUE(store().put(payload, bytes_of("x")));
    EXPECT_TRUE(store().remove(payload));
    EXPECT_TRUE(store().remove(payload));
    EXPECT_EQ(text_at(payload), std::nullopt);
    EXPECT_EQ(*store().stat(payload), std::nullopt);
}

TEST_P(Store, ModificationTimeIsTheStoresClock)
{
    auto const before = SystemClock{}.now() -
                        Millis{20};  // a file system's clock is as coarse as the kernel's tick
    ASSERT_EQ(*store().create(commit(1), bytes_of("x")), CreateOutcome::created);
    auto const info = *store().stat(commit(1));
    ASSERT_TRUE(info);
    // An S3 server rounds down to the second.
    EXPECT_GE(info->modified, std::chrono::floor<Seconds>(before));
    EXPECT_LE(info->modified, SystemClock{}.now());
    EXPECT_EQ((*store().stat(commit(1)))->modified, info->modified);
}

TEST_P(Store, AVerifiedReadDistinguishesGoodCorruptAndMissing)
{
    auto const content = random_content(100'000, 7);
    ASSERT_TRUE(store().put(payload, content));
    auto const good = read_verified(store(), payload, {100'000}, sha256(content), Millis{0});
    ASSERT_TRUE(good) << good.error().error.message();
    EXPECT_TRUE(*good == content);

    EXPECT_EQ(read_verified(store(), payload, {100'000}, sha256("other"), Millis{0}).error().cause,
              ReadFailure::Cause::corrupt);
    EXPECT_EQ(read_verified(store(), payload, {100'001}, sha256(content), Millis{0}).error().cause,
              ReadFailure::Cause::corrupt);
    EXPECT_EQ(read_verified(store(), payload, {99'999}, sha256(content), Millis{0}).error().cause,
              ReadFailure::Cause::corrupt);
    EXPECT_EQ(read_verified(store(), commit(1), {1}, sha256(""), Millis{0}).error().cause,
              ReadFailure::Cause::missing);
}

ObjectFolder folder(char const* text) { return *ObjectFolder::parse(text); }

std::vector<std::string> names_of(std::vector<ListedObject> const& listing)
{
    std::vector<std::string> names;
    names.reserve(listing.size());
    for (auto const& object : listing) names.push_back(object.name);
    return names;
}

TEST_P(Store, AListingHasEachObjectOfAFolderInTheOrderOfBytesWithSizeAndTime)
{
    std::vector<std::string> const names{
        "runs/r/commits/00000001.json",           "runs/r/commits/00000010.json",
        "runs/r/models/1/A-1.0123abcd.1-1/w0.h5", "runs/r/models/1/A.0123abcd.1-1/m0.h5",
        "runs/r/models/1/A.0123abcd.1-1/w0.h5",   "runs/r/models/10/A.0123abcd.1-1/w0.h5",
        "runs/r/models/2/A.0123abcd.1-1/w0.h5",   "runs/r/run.json"};
    for (std::string const other : {"runs/r-1/run.json", "runs/r1/run.json", "runs/q/run.json"})
        ASSERT_TRUE(store().put(*ObjectName::parse(other), bytes_of("other")));
    for (auto it = names.rbegin(); it != names.rend(); ++it)
        ASSERT_TRUE(store().put(*ObjectName::parse(*it), bytes_of(*it)));
    auto const listing = store().list_all(folder("runs/r"));
    ASSERT_TRUE(listing) << listing.error().message();
    EXPECT_EQ(names_of(*listing), names);
    for (auto const& object : *listing) {
        auto const info = store().stat(*ObjectName::parse(object.name)).value().value();
        EXPECT_EQ(object.info.size, info.size);
        EXPECT_LT(object.info.modified - info.modified, Seconds{1});
        EXPECT_LT(info.modified - object.info.modified, Seconds{1});
    }
    EXPECT_EQ(names_of(*store().list_all(folder("runs/r/models/1"))),
              std::vector(names.begin() + 2, names.begin() + 5));
    EXPECT_EQ(store().list_all(folder("runs"))->size(), names.size() + 3);
    EXPECT_TRUE(store().list_all(folder("runs/r/deltas"))->empty());
    EXPECT_TRUE(store().list_all(folder("runs/none"))->empty());
}

TEST_P(Store, AListingBeginsAfterANameAndEndsOnRequest)
{
    for (int n = 1; n <= 9; ++n) ASSERT_TRUE(store().put(commit(n), bytes_of("x")));
    ASSERT_TRUE(store().put(payload, bytes_of("x")));
    auto const after = [&](char const* where, std::string const& name, std::size_t most) {
        std::vector<std::string> names;
        EXPECT_TRUE(store().list(folder(where), name, [&](ListedObject const& object) {
            names.push_back(object.name);
            return names.size() < most;
        }));
        return names;
    };
    using testing::ElementsAre;
    EXPECT_THAT(after("runs/r/commits", commit(7).text(), 100),
                ElementsAre(commit(8).text(), commit(9).text()));
    EXPECT_THAT(after("runs/r/commits", commit(3).text(), 2),
                ElementsAre(commit(4).text(), commit(5).text()));
    EXPECT_THAT(after("runs/r/commits", commit(9).text(), 100), ElementsAre());
    EXPECT_THAT(after("runs", commit(8).text(), 100),
                ElementsAre(commit(9).text(), payload.text()));
    // The slash sorts before digits, so this skips everything of run `r`.
    EXPECT_THAT(after("runs", "runs/r0", 100), ElementsAre());
    EXPECT_THAT(after("runs", "runs/q", 1), ElementsAre(commit(1).text()));
}

TEST_P(Store, ALongListingIsComplete)
{
    constexpr int objects = 1100;  // more than a page of an S3 server
    std::vector<std::string> names;
    for (int n = 0; n < objects; ++n) {
        names.push_back(commit(n).text());
        ASSERT_TRUE(store().put(commit(n), bytes_of("x")));
    }
    EXPECT_EQ(names_of(*store().list_all(folder("runs/r"))), names);
}

TEST_P(Store, ARemovedObjectIsNotListed)
{
    ASSERT_TRUE(store().put(payload, bytes_of("x")));
    ASSERT_TRUE(store().remove(payload));
    EXPECT_TRUE(store().list_all(folder("runs/r"))->empty());
}

TEST_P(Store, ObjectsAreNoLeftoversAndRemovingAMissingLeftoverSucceeds)
{
    ASSERT_TRUE(store().put(payload, bytes_of("x")));
    ASSERT_EQ(*store().create(commit(1), bytes_of("x")), CreateOutcome::created);
    auto const found = store().leftovers(folder("runs/r"));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->empty());
    EXPECT_TRUE(store().remove_leftover(
        {"runs/r/commits/.1.json.h.0123456789abcdef.1.1.tmp", "no-such-upload", {}}));
}

TEST_P(Store, KeepsNoVersions) { EXPECT_EQ(store().keeps_versions().value(), false); }

INSTANTIATE_TEST_SUITE_P(Every, Store,
                         testing::Values(Implementation{"Memory", make_memory},
                                         Implementation{"Posix", make_posix},
                                         Implementation{"PosixStepwise", make_stepwise},
                                         Implementation{"S3", make_s3},
                                         Implementation{"FaultyWithoutFaults", make_faultless},
                                         Implementation{"FaultyAndSlow", make_slow}),
                         [](auto const& made) { return std::string(made.param.name); });

}  // namespace
}  // namespace curtail::store
