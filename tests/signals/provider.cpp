// SPDX-License-Identifier: Apache-2.0
// The live provider: what it remembers, when it asks, and that no secret leaves it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "core/files.hpp"
#include "signals/watttime_provider.hpp"
#include "support/watttime_server.hpp"

namespace curtail::signals {
namespace {

using test::TemporaryFolder;
using test::WattTimeServer;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

RegionId const caiso{"CAISO_NORTH"};
Time at(char const* clock_time)
{
    return parse_time(std::string("2026-01-11T") + clock_time + "Z").value();
}

class ManualClock final : public Clock {
  public:
    Time time{at("12:02")};
    [[nodiscard]] Time now() const override { return time; }
};

class Live : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_server = std::make_unique<WattTimeServer>(); }
    static void TearDownTestSuite() { shared_server.reset(); }
    Live() { server_.control("reset"); }
    WattTimeProvider provider(std::string const& password = WattTimeServer::password)
    {
        watttime::Options options;
        options.base_url = server_.url();
        options.state_folder = folder_ / "state";
        options.credentials_file = folder_ / "account.json";
        options.pause = [](Millis) {};
        options.writes = writes_;
        options.log =
            Log([this](Level, std::string_view text) { log_ += std::string(text) + "\n"; },
                Level::debug);
        return WattTimeProvider(
            watttime::Client({"alice", Secret(password)}, std::move(options), clock_));
    }
    /// Server and machine agree on the time.
    void set_time(char const* clock_time)
    {
        clock_.time = at(clock_time);
        server_.control("now=" + format_time(clock_.time));
    }
    Answer ask(WattTimeProvider& provider)
    {
        return provider.samples(caiso, clock_.time - Seconds{3600}, clock_.time);
    }
    std::size_t questions() { return server_.requests("/v3/").size(); }

    static inline std::unique_ptr<WattTimeServer> shared_server;
    WattTimeServer& server_{*shared_server};
    TemporaryFolder folder_;
    ManualClock clock_;
    std::string log_;
    bool writes_{true};
};

TEST_F(Live, ValueIsAskedForOncePerFiveMinutes)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    set_time("12:04:59");
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    EXPECT_EQ(questions(), 1U);
}

TEST_F(Live, ValuesAreSharedWithTheNextProcess)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_THAT(ask(first).samples, SizeIs(1));
    server_.control("lbs=100");
    set_time("12:05");
    auto second = provider();
    auto const answer = ask(second);
    EXPECT_FALSE(answer.trouble);
    ASSERT_THAT(answer.samples, SizeIs(2));
    EXPECT_EQ(answer.samples[0].time, at("12:00"));
    EXPECT_EQ(answer.samples[0].intensity, from_lbs_per_mwh(870));
    EXPECT_EQ(answer.samples[1].intensity, from_lbs_per_mwh(100));
    auto third = provider();
    EXPECT_EQ(ask(third).samples, answer.samples);
    EXPECT_EQ(questions(), 2U);
}

TEST_F(Live, FailureLeavesWhatIsKnownAndTellsTheTrouble)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_FALSE(ask(first).trouble);
    set_time("12:06");
    server_.control("fault=status503&times=99");
    auto second = provider();
    auto const answer = ask(second);
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble->code, ExitCode::temporary);
    EXPECT_THAT(answer.samples, SizeIs(1));
}

TEST_F(Live, FailingServerIsLeftAloneForAWhile)
{
    set_time("12:02");
    server_.control("fault=status503&times=99&endpoint=forecast");
    auto one = provider();
    auto const first = ask(one);
    auto const asked = questions();
    EXPECT_EQ(ask(one).trouble, first.trouble);
    EXPECT_EQ(questions(), asked);
}

TEST_F(Live, FailingServerIsLeftAloneByTheNextProcessToo)
{
    set_time("12:02");
    server_.control("fault=status503&times=99&endpoint=forecast");
    auto one = provider();
    auto const first = ask(one);
    ASSERT_TRUE(first.trouble);
    auto const asked = questions();
    set_time("12:02:29");
    auto second = provider();
    auto const answer = ask(second);
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble, first.trouble);
    EXPECT_EQ(questions(), asked);
    set_time("12:02:31");
    auto third = provider();
    (void)ask(third);
    EXPECT_GT(questions(), asked);
    auto const then = questions();
    set_time("12:03:20");
    auto fourth = provider();
    (void)ask(fourth);
    EXPECT_EQ(questions(), then) << "the second rest is longer";
}

TEST_F(Live, ServerThatAsksForARestGetsIt)
{
    set_time("12:02");
    server_.control("fault=status429&times=99&retry_after=900");
    auto one = provider();
    ASSERT_TRUE(ask(one).trouble);
    auto const asked = server_.requests().size();
    set_time("12:16");
    auto second = provider();
    EXPECT_TRUE(ask(second).trouble);
    EXPECT_EQ(server_.requests().size(), asked);
    server_.control("no_faults");
    set_time("12:18");
    auto third = provider();
    EXPECT_FALSE(ask(third).trouble);
    server_.control("fault=status429&times=99&retry_after=999999");
    set_time("12:25");
    auto fourth = provider();
    EXPECT_TRUE(ask(fourth).trouble);
    server_.control("no_faults");
    set_time("13:26");
    auto fifth = provider();
    EXPECT_FALSE(ask(fifth).trouble) << "an hour at most";
    set_time("11:00");
    clock_.time = at("11:00");
    auto sixth = provider();
    EXPECT_FALSE(ask(sixth).trouble) << "a clock that was wrong does not silence a region";
}

TEST_F(Live, ServerThatStandsStillIsTrouble)
{
    set_time("12:02");
    clock_.time = at("12:09:59");
    auto one = provider();
    EXPECT_FALSE(ask(one).trouble) << "the value is late";
    set_time("12:02");
    clock_.time = at("12:10:30");
    auto const answer = ask(one);
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble->code, ExitCode::temporary);
    EXPECT_THAT(answer.trouble->message(),
                HasSubstr("its newest value is of 2026-01-11T12:00:00Z"));
    EXPECT_THAT(answer.samples, SizeIs(1)) << "it ages by itself";
    set_time("12:11:30");
    EXPECT_FALSE(ask(one).trouble);
}

TEST_F(Live, RestThatAClockAheadHasLeftIsNotKept)
{
    set_time("12:50");
    auto one = provider();
    ASSERT_FALSE(ask(one).trouble);
    set_time("12:00");
    auto second = provider();
    EXPECT_THAT(ask(second).samples, SizeIs(1));
    EXPECT_EQ(questions(), 2U);
}

TEST_F(Live, RefusedAccountIsAskedForAgainWhenItsFileChanges)
{
    set_time("12:02");
    ASSERT_TRUE(write_file(folder_ / "account.json", "wrong", 0600));
    auto first = provider("wrong");
    ASSERT_EQ(ask(first).trouble->code, ExitCode::permission);
    auto const asked = server_.requests("/login").size();
    auto again = provider("wrong");
    ASSERT_EQ(ask(again).trouble->code, ExitCode::permission);
    EXPECT_EQ(server_.requests("/login").size(), asked) << "nobody has changed it";
    auto const later =
        std::filesystem::last_write_time(folder_ / "state/watttime-CAISO_NORTH.json") +
        std::chrono::seconds(1);
    std::filesystem::last_write_time(folder_ / "account.json", later);
    auto corrected = provider();
    EXPECT_FALSE(ask(corrected).trouble);
}

TEST_F(Live, DryRunUsesWhatIsThereAndWritesNothing)
{
    set_time("12:02");
    writes_ = false;
    auto one = provider();
    EXPECT_THAT(ask(one).samples, SizeIs(1));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
    writes_ = true;
    auto two = provider();
    EXPECT_THAT(ask(two).samples, SizeIs(1));
    auto const requests = server_.requests().size();
    writes_ = false;
    auto three = provider();
    EXPECT_THAT(ask(three).samples, SizeIs(1));
    EXPECT_EQ(server_.requests().size(), requests);
}

TEST_F(Live, SamplesOutsideTheIntervalAreNotAnswered)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    EXPECT_THAT(one.samples(caiso, at("12:01"), at("12:02")).samples, IsEmpty());
}

TEST_F(Live, ValueOfTheFarFutureIsTroubleAndForgotten)
{
    set_time("12:02");
    clock_.time = at("11:30");
    auto one = provider();
    auto const answer = ask(one);
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble->remedy, "set the clock");
    EXPECT_THAT(answer.samples, IsEmpty());
    clock_.time = at("12:02");
    auto second = provider();
    EXPECT_THAT(ask(second).samples, SizeIs(1));
}

TEST_F(Live, DamagedMemoryIsForgottenAloud)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_THAT(ask(first).samples, SizeIs(1));
    auto const file = folder_ / "state/watttime-CAISO_NORTH.json";
    for (auto const* text :
         {"{\"samples\":[",
          "{\"samples\":[{\"time\":\"noon\",\"g_per_kwh\":1,\"generated_at\":null}]}",
          "{\"samples\":[{\"time\":\"2026-01-11T12:00:00Z\",\"g_per_kwh\":99999,\"generated_at\":"
          "null}]}"}) {
        ASSERT_TRUE(write_file(file, text, 0600));
        auto const before = questions();
        auto next = provider();
        EXPECT_THAT(ask(next).samples, SizeIs(1)) << text;
        EXPECT_EQ(questions(), before + 1) << text;
    }
    EXPECT_THAT(log_, HasSubstr("earlier values are forgotten"));
}

TEST_F(Live, MemoryThatOthersCouldHaveWrittenIsNotBelieved)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_THAT(ask(first).samples, SizeIs(1));
    std::filesystem::permissions(folder_ / "state", std::filesystem::perms{0777});
    auto second = provider();
    auto const answer = ask(second);
    EXPECT_THAT(answer.samples, IsEmpty());
    ASSERT_TRUE(answer.trouble);
    EXPECT_EQ(answer.trouble->code, ExitCode::permission);
}

TEST_F(Live, WarningsOfTheProviderReachTheLog)
{
    set_time("12:02");
    server_.control("fault=warnings&endpoint=forecast");
    auto one = provider();
    (void)ask(one);
    EXPECT_THAT(log_, HasSubstr("WattTime about CAISO_NORTH: EXAMPLE_WARNING"));
}

TEST_F(Live, NoSecretShowsInArgumentsLogsErrorsOrOutput)
{
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    set_time("12:02");
    std::string said;
    for (auto const* fault : {"", "status503", "html", "truncated", "percentile", "oversize",
                              "redirect", "status403", "cut_off"}) {
        server_.control(std::string("no_faults&forget_tokens&times=99&fault=") + fault);
        std::filesystem::remove(folder_ / "state/watttime-CAISO_NORTH.json");
        auto one = provider();
        if (auto const answer = ask(one); answer.trouble) said += answer.trouble->message() + "\n";
        auto with_wrong_password = provider("correct-horse-battery");
        std::filesystem::remove(folder_ / "state/watttime-token.json");
        std::filesystem::remove(folder_ / "state/watttime-CAISO_NORTH.json");
        if (auto const answer = ask(with_wrong_password); answer.trouble)
            said += answer.trouble->message() + "\n";
    }
    said += testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr() + log_;
    for (auto const* file : {"cmdline", "environ"})
        said += read_file(std::filesystem::path("/proc/self") / file).value();
    EXPECT_THAT(said, HasSubstr("cannot"));
    for (auto const* secret :
         {WattTimeServer::password, "correct-horse-battery", "header.payload", "Bearer", "Basic "})
        EXPECT_THAT(said, Not(HasSubstr(secret)));
}

TEST_F(Live, PasswordIsNeverWrittenToTheStateFolder)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    for (auto const& entry : std::filesystem::directory_iterator(folder_ / "state"))
        EXPECT_THAT(read_file(entry.path()).value(), Not(HasSubstr(WattTimeServer::password)))
            << entry.path();
}

}  // namespace
}  // namespace curtail::signals
