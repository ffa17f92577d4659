// SPDX-License-Identifier: Apache-2.0
// How many requests the programs send to the store of a run with 5,000 commits. Three sites
// publish a journal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "bill/account/files.hpp"
#include "bill/status/work_view.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "run/journal/reader.hpp"
#include "run/journal/stream_writer.hpp"
#include "support/counting_store.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

constexpr int commits = 5'000;

class LongRun : public testing::Test {
  protected:
    static void SetUpTestSuite()
    {
        objects = std::make_shared<store::MemoryStore>();
        run = std::make_unique<chain::test::SmallRun>(*objects, RunId{"long"}, 3L * commits);
        run->make_lone(commits);
        // As sites do, except for the newest two.
        for (auto commit = run->chain().begin(); commit != run->chain().end() - 2; ++commit)
            (void)objects->remove(*chain::object_name(run->spec().run, commit->model.weights.name));
        for (auto const& site : sites)
            for (auto const stream : journal::all_streams) publish(site, stream);
    }
    // Twenty pieces of one line each.
    static void publish(SiteId const& site, journal::Stream stream)
    {
        curtail::test::TemporaryFolder folder;
        for (int i = 0; i < 20; ++i) {
            std::ofstream(folder / "log", std::ios::app) << "line " << i << "\n";
            journal::StreamWriter writer(
                journal::StreamObjects(objects, {run->spec().run, site, stream}), folder / "log",
                {});
            ASSERT_TRUE(writer.publish({}));
        }
    }
    static void TearDownTestSuite()
    {
        run.reset();
        objects.reset();
    }

    // Calls `act` as a new process does, and returns the number of its requests.
    int requests_of(char const* what, std::function<void(chain::RunObjects const&)> const& act)
    {
        curtail::test::CountingStore counted(*objects);
        auto const begin = monotonic_now();
        {
            chain::RecordCache cache({folder_ / "cache"}, {.url = "s3://bucket"}, run->spec().run);
            act({counted, run->spec().run, &cache});
        }
        auto const took = std::chrono::duration_cast<Millis>(monotonic_now() - begin);
        int const requests = counted.take();
        fmt::print("{}: {} requests, {} ms\n", what, requests, took.count());
        return requests;
    }

    // As LogReader does, but on a machine without local files.
    void journals(chain::RunObjects const& run_objects) const
    {
        std::shared_ptr<store::ObjectStore> const store(std::shared_ptr<void>{},
                                                        &run_objects.store());
        journal::Reader const reader(store, run_objects.run(),
                                     journal::Cache(folder_ / "cache/journal"));
        for (auto const& site : sites)
            for (auto const stream : journal::all_streams)
                EXPECT_EQ(reader.read(site, stream)->newest.value, 20);
    }

    static void status(chain::RunObjects const& run_objects)
    {
        auto const view = read_chain_view(run_objects);
        ASSERT_TRUE(view) << view.error().message();
        EXPECT_EQ((*view)->tip, run->tip());
        auto const work = read_work({}, run_objects, {}, **view);
        ASSERT_TRUE(work) << work.error().message();
        EXPECT_EQ(work->sites.at(0).included, run->tip().totals.tokens);
    }
    static void report(chain::RunObjects const& run_objects)
    {
        auto const read = account::read_commits(run_objects);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(read->commits.size(), run->chain().size());
    }
    static void model(chain::RunObjects const& run_objects)
    {
        auto const read = chain::read_chain(run_objects, chain::Check::rules);
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_TRUE(*read == run->chain());
    }
    static void verify(chain::RunObjects const& run_objects)
    {
        auto const summary = chain::verify_run(run_objects);
        ASSERT_TRUE(summary) << summary.error().message();
        EXPECT_EQ(summary->commits, std::ssize(run->chain()));
    }

    inline static std::vector<SiteId> const sites{{"A"}, {"B"}, {"C"}};
    static std::shared_ptr<store::MemoryStore> objects;
    static std::unique_ptr<chain::test::SmallRun> run;
    curtail::test::TemporaryFolder folder_;
};
std::shared_ptr<store::MemoryStore> LongRun::objects;
std::unique_ptr<chain::test::SmallRun> LongRun::run;

TEST_F(LongRun, ASecondStatusNeedsAFewRequests)
{
    EXPECT_GE(requests_of("first status", status), commits);
    EXPECT_LT(requests_of("second status", status), 10);
}

TEST_F(LongRun, ASecondReportNeedsAFewRequests)
{
    EXPECT_GE(requests_of("first report", report), commits);
    EXPECT_LT(requests_of("second report", report), 10);
    EXPECT_GE(requests_of("first journals", [this](auto const& r) { journals(r); }), 300);
    auto const all = [this](auto const& r) {
        report(r);
        journals(r);
    };
    EXPECT_LT(requests_of("second report with the journals", all), 50);
    EXPECT_LT(requests_of("model after a report", model), 10);
    EXPECT_LT(requests_of("status after a report", status), 10);
    for (int more = 0; more < 100; ++more) run->continue_lone();
    EXPECT_LT(requests_of("status 100 commits later", status), 140);
    EXPECT_LT(requests_of("report after this status", report), 10);
}

TEST_F(LongRun, VerificationReadsEveryCommitFromTheStore)
{
    int const first = requests_of("first verification", verify);
    EXPECT_GE(first, commits);
    EXPECT_LT(first, commits + 300) << "no request for each model that was deleted";
    EXPECT_GE(requests_of("second verification", verify), commits);
    EXPECT_LT(requests_of("report after a verification", report), 10);
}

}  // namespace
}  // namespace curtail::status
