// curtail-poll with WattTime's stand-in and jobs as local processes: what cron does on a machine without Slurm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.hpp"
#include "core/json.hpp"
#include "launch/command.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"
#include "support/watttime_server.hpp"

namespace curtail {
namespace {

using testing::HasSubstr;
using testing::Not;

char const* const obedient = R"sh(#!/bin/bash
trap 'echo stopped; exit 0' USR1
env
while :; do sleep 0.05; done
)sh";

class LivePoller : public testing::Test {
  protected:
    void SetUp() override
    {
        server_.control("lbs=100");
        ASSERT_TRUE(write_file(folder_ / "job.sh", obedient, 0755));
        ASSERT_TRUE(write_file(folder_ / "site.json", R"({"site": "CAISO_NORTH", "launcher": {"kind": "local", "script": "job.sh"}})"));
        ASSERT_TRUE(write_file(folder_ / "run.json", fmt::format(R"({{"run": "live", "folder": "out", "store": "file:out/store",
            "model": "{}/inputs/models/demo.json", "data": {{"folder": "d"}}, "training": {{"batch_tokens": 65536}}, "sites": ["site.json"]}})",
                                                                 CURTAIL_SOURCE_DIR)));
        ASSERT_TRUE(write_file(folder_ / "account.json",
                               fmt::format(R"({{"username": "alice", "password": "{}"}})", test::WattTimeServer::password), 0600));
    }
    /// Whatever a test started ends.
    void TearDown() override
    {
        ASSERT_TRUE(write_file(folder_ / "out/complete.json", "{}"));
        EXPECT_TRUE(test::eventually([&] { return poll({"--json"}).output.find("\"jobs\": []") != std::string::npos; }));
    }
    launch::Finished poll(std::vector<std::string> more)
    {
        std::vector<std::string> arguments{CURTAIL_BIN_DIR "/curtail-poll",
                                           (folder_ / "run.json").string(),
                                           "--watttime",
                                           "--credentials",
                                           (folder_ / "account.json").string(),
                                           "--watttime-url",
                                           server_.url()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto const done = launch::run_command({std::move(arguments), launch::plain_environment(), Millis(20'000)});
        EXPECT_TRUE(done) << (done ? "" : done.error().message());
        return done.value_or(launch::Finished{-1, "", ""});
    }

    test::TemporaryFolder folder_;
    test::WattTimeServer server_;
};

TEST_F(LivePoller, CleanSignalStartsAJobThatKnowsNoSecretAndPollsAskSeldom)
{
    auto const first = poll({"--explain"});
    EXPECT_EQ(first.exit_code, 0) << first.errors;
    EXPECT_THAT(first.output, HasSubstr("45.4 gCO2/kWh"));
    EXPECT_THAT(first.output, HasSubstr("action  submit: the window is open since"));
    EXPECT_EQ(poll({}).exit_code, 0);
    EXPECT_THAT(poll({"--explain", "--dry-run"}).output, HasSubstr("RUNNING\n  would   wait: job i"));
    EXPECT_LE(server_.requests("/v3/forecast").size(), 2U) << "once in five minutes, which may just have passed";
    EXPECT_EQ(server_.requests("/login").size(), 1U);
    // The account is in no file, log or environment but its own.
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "out")) {
        if (!entry.is_regular_file()) continue;
        EXPECT_THAT(read_file(entry.path()).value(), Not(HasSubstr(test::WattTimeServer::password))) << entry.path();
    }
}

TEST_F(LivePoller, CredentialsThatOthersCanReadAreRefused)
{
    std::filesystem::permissions(folder_ / "account.json", std::filesystem::perms(0644));
    auto const done = poll({});
    EXPECT_EQ(done.exit_code, 77);
    EXPECT_THAT(done.errors, HasSubstr("chmod 600"));
    std::filesystem::permissions(folder_ / "account.json", std::filesystem::perms(0600));
}

}  // namespace
}  // namespace curtail
