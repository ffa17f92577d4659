// SPDX-License-Identifier: Apache-2.0
// Sweeps of a run in each type of store.
#include "protocol/chain/sweep.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/core/clock.hpp"
#include "operate/store_time.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "protocol/records/names.hpp"
#include "storage/s3/bucket.hpp"
#include "support/each_store.hpp"
#include "support/faulty_store.hpp"

namespace curtail::chain {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Millis const day = std::chrono::hours(24);

class SweepOf : public curtail::test::EachStore {
  protected:
    SweepOf() : store_(new_store()), run_(*store_) { run_.make(); }

    [[nodiscard]] chain::RunObjects objects(CallLimits const& call = {})
    {
        return {*store_, run_.spec().run, nullptr, call};
    }
    void put(std::string const& name)
    {
        ASSERT_TRUE(
            store_->put(*chain::object_name(run_.spec().run, name), store::bytes_of("garbage")));
    }
    // What a sweep a day later would delete.
    std::vector<std::string> deletions(Millis later = day + Seconds{60})
    {
        auto const plan = plan_sweep(objects(), SystemClock{}.now() + later).value();
        std::vector<std::string> names;
        for (auto const& decision : plan.decisions)
            if (upkeep::is_deletion(decision.reason)) names.push_back(decision.object.name);
        return names;
    }
    std::vector<std::string> names()
    {
        auto const listing = store_->list_all(*store::ObjectFolder::parse("runs")).value();
        std::vector<std::string> all;
        all.reserve(listing.size());
        for (auto const& object : listing) all.push_back(object.name);
        return all;
    }

    std::unique_ptr<store::ObjectStore> store_;
    chain::test::SmallRun run_;
};

TEST_P(SweepOf, ARunThatIsNeededKeepsWhatVerificationNeeds)
{
    put("models/3/B.0123abcd.9-9/w0.h5");
    put("models/99/B.0123abcd.9-9/w0.h5");
    put("deltas/1/" + run_.a().value + "/6/d0.h5");
    auto const plan = plan_sweep(objects(), SystemClock{}.now() + day + Seconds{60});
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->newest, run_.tip().number);
    EXPECT_EQ(plan->round, run_.tip().round);
    auto const before = names().size();
    auto const result = carry_out(objects(), *plan);
    EXPECT_THAT(result.errors, IsEmpty());
    EXPECT_GE(result.deleted, 4);
    EXPECT_GT(result.freed.value, 0);
    EXPECT_EQ(names().size() + static_cast<std::size_t>(result.deleted), before);
    EXPECT_TRUE(chain::verify_run(objects()));
    EXPECT_THAT(names(), Not(Contains("runs/small/models/3/B.0123abcd.9-9/w0.h5")));
    EXPECT_THAT(names(), Contains("runs/small/models/99/B.0123abcd.9-9/w0.h5"));
    EXPECT_THAT(names(), Contains("runs/small/deltas/1/" + run_.a().value + "/6/d0.h5"));
    EXPECT_THAT(deletions(), IsEmpty()) << "a second sweep has nothing to do";
}

TEST_P(SweepOf, AYoungRunDeletesNothing)
{
    put("models/3/B.0123abcd.9-9/w0.h5");
    EXPECT_THAT(deletions(day - Seconds{60}), IsEmpty());
    EXPECT_THAT(deletions(), Contains("models/3/B.0123abcd.9-9/w0.h5"));
}

TEST_P(SweepOf, ACancelledSweepDeletesNoMore)
{
    for (int n = 0; n < 9; ++n) put("models/3/B.0123abcd.9-" + std::to_string(n) + "/w0.h5");
    auto const plan = plan_sweep(objects(), SystemClock{}.now() + day + Seconds{60}).value();
    std::stop_source stop;
    auto const cancelled = objects({stop.get_token()});
    auto const result = carry_out(cancelled, plan, [&](std::int64_t done) {
        if (done == 4) stop.request_stop();
    });
    EXPECT_EQ(result.deleted, 4);
    EXPECT_THAT(result.errors, IsEmpty());
    if (GetParam() == std::string("memory")) return;  // it answers at once
    EXPECT_EQ(plan_sweep(cancelled, SystemClock{}.now()).error().code, ExitCode::temporary);
    EXPECT_EQ(chain::read_chain(cancelled, chain::Check::rules).error().code, ExitCode::temporary);
}

TEST_P(SweepOf, TwoAtOnceLeaveTheSameObjects)
{
    for (int n = 0; n < 60; ++n)
        put("models/" + std::to_string(1 + n % 4) + "/B.0123abcd.9-" + std::to_string(n) +
            "/w0.h5");
    std::vector<SweepResult> results(2);
    std::vector<std::thread> sweepers;
    sweepers.reserve(results.size());
    for (auto& result : results)
        sweepers.emplace_back([&] {
            auto const plan = plan_sweep(objects(), SystemClock{}.now() + day + Seconds{60});
            result = carry_out(objects(), plan.value());
        });
    for (auto& sweeper : sweepers) sweeper.join();
    for (auto const& result : results) EXPECT_THAT(result.errors, IsEmpty());
    EXPECT_GE(results[0].deleted + results[1].deleted, 60);
    EXPECT_TRUE(chain::verify_run(objects()));
    EXPECT_THAT(deletions(), IsEmpty());
}

TEST_P(SweepOf, ABrokenChainDeletesNothing)
{
    put("models/3/B.0123abcd.9-9/w0.h5");
    auto const name = *chain::object_name(run_.spec().run, protocol::commit_name({3}));
    auto const good = store_->get(name, {1 << 20}).value().value();
    ASSERT_TRUE(store_->put(name, store::bytes_of("{}")));
    EXPECT_EQ(plan_sweep(objects(), SystemClock{}.now()).error().code, ExitCode::protocol);
    ASSERT_TRUE(store_->remove(name));
    EXPECT_EQ(plan_sweep(objects(), SystemClock{}.now()).error().code, ExitCode::protocol);
    ASSERT_TRUE(store_->put(name, good));
    EXPECT_TRUE(plan_sweep(objects(), SystemClock{}.now()));
}

TEST_P(SweepOf, ARunThatIsNotThereIsAnError)
{
    chain::RunObjects const none{*store_, {"none"}};
    EXPECT_EQ(plan_sweep(none, SystemClock{}.now()).error().code, ExitCode::no_input);
}

TEST_P(SweepOf, AnotherRunIsLeftAlone)
{
    ASSERT_TRUE(store_->put(*store::ObjectName::parse("runs/small2/models/1/B.0123abcd.9-9/w0.h5"),
                            store::bytes_of("x")));
    ASSERT_TRUE(carry_out(objects(), plan_sweep(objects(), SystemClock{}.now() + 2 * day).value())
                    .errors.empty());
    EXPECT_THAT(names(), Contains("runs/small2/models/1/B.0123abcd.9-9/w0.h5"));
}

TEST_P(SweepOf, TheStoresClockIsRead)
{
    auto const before = names();
    auto const time = operate::read_store_time(*store_, run_.spec().run);
    ASSERT_TRUE(time) << time.error().message();
    EXPECT_LT(std::chrono::abs(time->ahead()), Seconds{2});
    EXPECT_EQ(names(), before) << "the probe is gone";
}

INSTANTIATE_TEST_SUITE_P(Each, SweepOf, curtail::test::every_store, curtail::test::name_of_store);

struct Local : testing::Test {
    store::MemoryStore memory;
    chain::test::SmallRun run{memory};
    Local() { run.make(); }
};

TEST_F(Local, ASweepWithFaultsOfTheStoreDeletesNoMore)
{
    auto const plan =
        plan_sweep({memory, run.spec().run}, SystemClock{}.now() + day + Seconds{60}).value();
    store::FaultyStore faulty(memory, {.unavailable = 0.5}, 1);
    auto const result = carry_out({faulty, run.spec().run}, plan);
    EXPECT_FALSE(result.errors.empty());
    EXPECT_GT(result.deleted, 0);
    EXPECT_EQ(result.errors[0].code, ExitCode::temporary);
    for (std::uint64_t seed = 1; seed < 50; ++seed) {
        store::FaultyStore stale(
            memory, {.stale_missing = 0.2, .unlisted = 0.3, .corrupt_read = 0.1}, seed);
        auto const stale_plan = plan_sweep({stale, run.spec().run}, SystemClock{}.now() + 2 * day);
        if (stale_plan) (void)carry_out({memory, run.spec().run}, *stale_plan);
        ASSERT_TRUE(chain::verify_run({memory, run.spec().run})) << seed;
    }
}

// Names that no program of Curtail writes.
TEST(SweepOfAFolder, LeavesHostileNamesAlone)
{
    namespace fs = std::filesystem;
    curtail::test::TemporaryFolder const folder;
    auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
    chain::test::SmallRun run(*store);
    run.make();
    auto const models = folder / "runs/small/models";
    std::vector<fs::path> const hostile{models / "\x1b[31m", models / "a\nb",
                                        models / "1/x/../../y", models / "01/A.00000001.2-1/w0.h5",
                                        models / "1/A.00000001.2-1/evil.h5"};
    for (auto const& path : hostile) {
        fs::create_directories(path.parent_path());
        fs::create_directories(models / "1/x");
        std::ofstream(path) << "x";
    }
    std::ofstream(folder / "victim") << "x";
    fs::create_symlink(folder / "victim", models / "1/A.00000001.2-1/w0.h5");
    fs::create_directories(models / "2");
    fs::create_directory_symlink(folder.path(), models / "2/link");
    auto const plan = plan_sweep({*store, run.spec().run}, SystemClock{}.now() + 2 * day).value();
    EXPECT_TRUE(carry_out({*store, run.spec().run}, plan).errors.empty());
    for (auto const& path : hostile) EXPECT_TRUE(fs::exists(path)) << path;
    EXPECT_TRUE(fs::exists(folder / "victim"));
    EXPECT_TRUE(chain::verify_run({*store, run.spec().run}));
}

// Sets the mode of a folder and of all folders in it.
void set_modes(std::filesystem::path const& folder, mode_t mode)
{
    std::vector<std::filesystem::path> folders{folder};
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_directory()) folders.push_back(entry.path());
    for (auto const& path : folders) chmod(path.c_str(), mode);
}

TEST(SweepOfAFolder, WithoutTheRightToDeleteReportsEachObject)
{
    curtail::test::TemporaryFolder const folder;
    chmod(folder.path().c_str(), 0755);  // for all objects
    auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
    chain::test::SmallRun run(*store);
    run.make();
    set_modes(folder.path(), 0555);
    pid_t const child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(255);
        chain::RunObjects const objects{*store, run.spec().run};
        auto const plan = plan_sweep(objects, SystemClock{}.now() + 2 * day);
        if (!plan) _exit(254);
        auto const result = carry_out(objects, *plan);
        if (result.deleted > 0 || result.errors.size() < 2) _exit(253);
        _exit(static_cast<int>(result.errors.front().code));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::permission));
    set_modes(folder.path(), 0755);
    EXPECT_TRUE(chain::verify_run({*store, run.spec().run}));
}

TEST(SweepOfAFolder, RemovesOldTemporaryFilesOnly)
{
    namespace fs = std::filesystem;
    curtail::test::TemporaryFolder const folder;
    auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
    chain::test::SmallRun run(*store);
    run.make();
    auto const temporary =
        folder / "runs/small/commits/.00000009.json.host.0123456789abcdef.1.0.tmp";
    std::ofstream(temporary) << "half";
    chain::RunObjects const objects{*store, run.spec().run};
    (void)carry_out(objects, plan_sweep(objects, SystemClock{}.now() + day - Seconds{9}).value());
    EXPECT_TRUE(fs::exists(temporary));
    (void)carry_out(objects, plan_sweep(objects, SystemClock{}.now() + day + Seconds{9}).value());
    EXPECT_FALSE(fs::exists(temporary));
}

TEST(SweepOfABucket, AbortsOldUploadsOnly)
{
    curtail::test::Rgw rgw;
    auto const uploads = rgw.make_bucket("uploads");
    store::Address const address{
        .url = "s3://" + uploads + "/x",
        .access = {.endpoint = rgw.endpoint(), .credentials = {.file = rgw.credentials()}}};
    auto const store = store::open_store(address).value();
    chain::test::SmallRun run(*store);
    run.make();
    s3::Bucket bucket(std::make_shared<s3::Session>(
        s3::complete({.bucket = uploads, .prefix = "x", .endpoint = rgw.endpoint()}).value(),
        std::make_shared<s3::CredentialSource>(s3::CredentialOptions{.file = rgw.credentials()},
                                               s3::Environment{}),
        http::ConnectionSettings{}, std::make_shared<SystemClock>()));
    ASSERT_TRUE(bucket.session().send({.method = http::Method::post,
                                       .key = "runs/small/models/9/A.00000001.2-9/w0.h5",
                                       .query = {{"uploads", ""}},
                                       .what = "begin"},
                                      {}));
    chain::RunObjects const objects{*store, run.spec().run};
    auto const folder = *store::ObjectFolder::parse("runs/small");
    (void)carry_out(objects, plan_sweep(objects, SystemClock{}.now() + day - Seconds{60}).value());
    EXPECT_THAT(store->leftovers(folder).value(), SizeIs(1));
    auto const plan = plan_sweep(objects, SystemClock{}.now() + day + Seconds{60}).value();
    EXPECT_TRUE(carry_out(objects, plan).errors.empty());
    EXPECT_THAT(store->leftovers(folder).value(), IsEmpty());
}

}  // namespace
}  // namespace curtail::chain
