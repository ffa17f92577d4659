// SPDX-License-Identifier: Apache-2.0
// What a trainer writes to a store that is not fit for its run: the probe.
#include <gmock/gmock.h>

#include <set>

#include "protocol/chain/run_objects.hpp"
#include "protocol/records/names.hpp"
#include "small_training.hpp"
#include "storage/store/object_store.hpp"
#include "support/s3_server.hpp"

namespace curtail::trainer {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreBeforeUse : public test::SmallTraining {
  protected:
    // Lets the run use the bucket of `server_`.
    void use_bucket()
    {
        auto text = read_file(run_file()).value();
        auto const folder = std::string(R"("store": "file:store")");
        text.replace(text.find(folder), folder.size(),
                     R"("store": "s3://bucket/p", "s3": {"endpoint": ")" + server_.url() +
                         R"(", "credentials": ")" + server_.credentials().string() + R"("})");
        ASSERT_TRUE(write_file(run_file(), text));
        run_ = config::read_run(run_file()).value();
    }
    [[nodiscard]] std::set<std::string> files() const
    {
        std::set<std::string> list;
        for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "store"))
            if (entry.is_regular_file()) list.insert(entry.path().string());
        return list;
    }

    curtail::test::S3Server server_;
};

TEST_F(StoreBeforeUse, AStoreThatReplacesObjectsGetsNoJournal)
{
    use_bucket();
    server_.control("fault=ignore_conditions&method=PUT&times=100000");
    auto const done = train(false);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::protocol) << done.error().message();
    EXPECT_THAT(server_.requests("PUT "), Each(HasSubstr("/probe")));
    EXPECT_THAT(server_.requests("POST "), IsEmpty());
}

TEST_F(StoreBeforeUse, ACopyWithoutItsRunRecordGetsNoJournal)
{
    use_bucket();
    auto const store = store::open_store(run_.store_for(run_.sites.front())).value();
    auto const first = chain::object_name(run_.run, protocol::commit_name({1})).value();
    ASSERT_EQ(store->create(first, store::bytes_of("{}")), store::CreateOutcome::created);
    auto const commit = server_.requests("PUT ");
    std::jthread const other([this](std::stop_token const& given_up) {
        auto const looks = [&] {
            auto const reads = server_.requests("GET /bucket/p/runs/small/run.json");
            return given_up.stop_requested() || reads.size() >= 4;
        };
        EXPECT_TRUE(curtail::test::eventually(looks, Seconds{40}));
        ::kill(getpid(), SIGUSR1);
    });
    ASSERT_TRUE(train(false)) << log_text_;
    auto puts = server_.requests("PUT ");
    puts.erase(puts.begin(), puts.begin() + std::ssize(commit));
    EXPECT_THAT(puts, SizeIs(2)) << "created, and created again";
    EXPECT_THAT(puts, Each(HasSubstr("/probe")));
}

TEST_F(StoreBeforeUse, ARunOfAnotherConfigurationGetsNoJournal)
{
    ASSERT_TRUE(train_until(3)) << log_text_;
    auto const before = files();
    configure(2, 0);
    auto const done = train(false);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ExitCode::config) << done.error().message();
    for (auto const& file : files())
        EXPECT_TRUE(before.contains(file) || file.find("/probe/") != file.npos) << file;
}

TEST_F(StoreBeforeUse, AMemberPublishesItsJournal)
{
    ASSERT_TRUE(train_until(3)) << log_text_;
    EXPECT_THAT(files(), testing::Contains(HasSubstr("journal/A/trainer/")));
    EXPECT_THAT(files(), testing::Contains(HasSubstr("journal/A/metrics/")));
}

}  // namespace
}  // namespace curtail::trainer
