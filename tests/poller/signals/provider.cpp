// SPDX-License-Identifier: Apache-2.0
// The live provider: its state, its queries, and that it reveals no secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "base/core/files.hpp"
#include "poller/signals/watttime_provider.hpp"
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
            watttime::AccountClient({"alice", Secret(password)}, std::move(options), clock_));
    }
    // Sets the clocks of server and machine.
    void set_time(char const* clock_time)
    {
        clock_.time = at(clock_time);
        server_.control("now=" + format_time(clock_.time));
    }
    Answer ask(WattTimeProvider& provider)
    {
        return provider.samples(caiso, clock_.time - Seconds{3600}, clock_.time);
    }
    // What a process that starts now gets.
    Answer ask_new()
    {
        auto one = provider();
        return ask(one);
    }
    std::size_t queries() { return server_.requests("/v3/").size(); }

    static inline std::unique_ptr<WattTimeServer> shared_server;
    WattTimeServer& server_{*shared_server};
    TemporaryFolder folder_;
    ManualClock clock_;
    std::string log_;
    bool writes_{true};
};

TEST_F(Live, QueriesOncePerFiveMinutes)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    set_time("12:04:59");
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    EXPECT_EQ(queries(), 1U);
}

TEST_F(Live, ProcessesShareValues)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_THAT(ask(first).samples, SizeIs(1));
    server_.control("lbs=100");
    set_time("12:05");
    auto second = provider();
    auto const answer = ask(second);
    EXPECT_FALSE(answer.problem);
    ASSERT_THAT(answer.samples, SizeIs(2));
    EXPECT_EQ(answer.samples[0].time, at("12:00"));
    EXPECT_EQ(answer.samples[0].intensity, from_lbs_per_mwh(870));
    EXPECT_EQ(answer.samples[1].intensity, from_lbs_per_mwh(100));
    auto third = provider();
    EXPECT_EQ(ask(third).samples, answer.samples);
    EXPECT_EQ(queries(), 2U);
}

TEST_F(Live, AStoredValueKeepsItsPeriod)
{
    set_time("12:02");
    {
        auto one = provider();
        ASSERT_THAT(ask(one).samples, SizeIs(1));
    }
    auto next = provider();
    auto const answer = ask(next);
    ASSERT_THAT(answer.samples, SizeIs(1));
    EXPECT_EQ(queries(), 1U) << "the second provider reads the stored value";
    EXPECT_EQ(answer.samples[0].period, Seconds{300});
}

TEST_F(Live, FailureKeepsKnownValuesAndReportsTheProblem)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_FALSE(ask(first).problem);
    set_time("12:06");
    server_.control("fault=status503&times=99");
    auto second = provider();
    auto const answer = ask(second);
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem->code, ExitCode::temporary);
    EXPECT_THAT(answer.samples, SizeIs(1));
}

TEST_F(Live, BacksOffFromAFailingServer)
{
    set_time("12:02");
    server_.control("fault=status503&times=99&endpoint=forecast");
    auto one = provider();
    auto const first = ask(one);
    auto const asked = queries();
    EXPECT_EQ(ask(one).problem, first.problem);
    EXPECT_EQ(queries(), asked);
}

TEST_F(Live, ProcessesShareTheBackoff)
{
    set_time("12:02");
    server_.control("fault=status503&times=99&endpoint=forecast");
    auto one = provider();
    auto const first = ask(one);
    ASSERT_TRUE(first.problem);
    auto const asked = queries();
    set_time("12:02:29");
    auto second = provider();
    auto const answer = ask(second);
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem, first.problem);
    EXPECT_EQ(queries(), asked);
    set_time("12:02:31");
    auto third = provider();
    (void)ask(third);
    EXPECT_GT(queries(), asked);
    auto const then = queries();
    set_time("12:03:20");
    auto fourth = provider();
    (void)ask(fourth);
    EXPECT_EQ(queries(), then) << "the second wait is longer";
}

TEST_F(Live, HonoursRetryAfter)
{
    set_time("12:02");
    server_.control("fault=status429&times=99&retry_after=900");
    auto one = provider();
    ASSERT_TRUE(ask(one).problem);
    auto const asked = server_.requests().size();
    set_time("12:16");
    auto second = provider();
    EXPECT_TRUE(ask(second).problem);
    EXPECT_EQ(server_.requests().size(), asked);
    server_.control("no_faults");
    set_time("12:18");
    auto third = provider();
    EXPECT_FALSE(ask(third).problem);
    server_.control("fault=status429&times=99&retry_after=999999");
    set_time("12:25");
    auto fourth = provider();
    EXPECT_TRUE(ask(fourth).problem);
    server_.control("no_faults");
    set_time("13:26");
    auto fifth = provider();
    EXPECT_FALSE(ask(fifth).problem) << "at most an hour";
    set_time("11:00");
    clock_.time = at("11:00");
    auto sixth = provider();
    EXPECT_FALSE(ask(sixth).problem) << "a wrong clock does not silence a region";
}

TEST_F(Live, ServerWithoutNewValuesIsAProblem)
{
    set_time("12:02");
    clock_.time = at("12:09:59");
    auto one = provider();
    EXPECT_FALSE(ask(one).problem) << "the value is late";
    set_time("12:02");
    clock_.time = at("12:10:30");
    auto const answer = ask(one);
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem->code, ExitCode::temporary);
    EXPECT_THAT(answer.problem->message(),
                HasSubstr("the newest value is from 2026-01-11T12:00:00Z"));
    EXPECT_THAT(answer.samples, SizeIs(1)) << "it expires on its own";
    set_time("12:11:30");
    EXPECT_FALSE(ask(one).problem);
}

TEST_F(Live, IgnoresAWaitSetByAClockThatWasAhead)
{
    set_time("12:50");
    auto one = provider();
    ASSERT_FALSE(ask(one).problem);
    set_time("12:00");
    auto second = provider();
    EXPECT_THAT(ask(second).samples, SizeIs(1));
    EXPECT_EQ(queries(), 2U);
}

TEST_F(Live, AClockThatIsRightAgainEndsTheProblem)
{
    set_time("12:02");
    clock_.time = at("15:02");
    ASSERT_TRUE(ask_new().problem) << "the value seems to be old";
    set_time("12:02:30");
    EXPECT_FALSE(ask_new().problem) << "the value is good";
    set_time("12:10");
    clock_.time = at("11:40");
    ASSERT_EQ(ask_new().problem->code, ExitCode::data) << "the value is from the future";
    set_time("12:10:30");
    auto const answer = ask_new();
    EXPECT_FALSE(answer.problem);
    EXPECT_EQ(answer.samples.back().time, at("12:10"));
}

TEST_F(Live, AMissingValueIsAskedForAgain)
{
    set_time("12:02");
    server_.control("fault=null_value&endpoint=forecast");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    set_time("12:02:29");
    EXPECT_FALSE(ask(one).samples.back().intensity);
    EXPECT_EQ(queries(), 1U);
    set_time("12:02:30");
    auto const answer = ask(one);
    EXPECT_EQ(queries(), 2U);
    ASSERT_THAT(answer.samples, SizeIs(1));
    EXPECT_TRUE(answer.samples.back().intensity);
}

// The window has been evaluated with the first value, and the log has it.
TEST_F(Live, AValueThatTheProviderRevisesStays)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_EQ(ask(one).samples.back().intensity, from_lbs_per_mwh(870));
    server_.control("lbs=100");
    clock_.time = at("12:05:10");  // the server is late with the value of 12:05
    EXPECT_EQ(ask(one).samples.back().intensity, from_lbs_per_mwh(870));
    EXPECT_EQ(queries(), 2U);
}

TEST_F(Live, RetriesARejectedAccountWhenItsFileChanges)
{
    set_time("12:02");
    ASSERT_TRUE(write_file(folder_ / "account.json", "wrong", 0600));
    auto first = provider("wrong");
    ASSERT_EQ(ask(first).problem->code, ExitCode::permission);
    auto const asked = server_.requests("/login").size();
    auto again = provider("wrong");
    ASSERT_EQ(ask(again).problem->code, ExitCode::permission);
    EXPECT_EQ(server_.requests("/login").size(), asked) << "the file has not changed";
    auto const later =
        std::filesystem::last_write_time(folder_ / "state/watttime-CAISO_NORTH.json") +
        std::chrono::seconds(1);
    std::filesystem::last_write_time(folder_ / "account.json", later);
    auto corrected = provider();
    EXPECT_FALSE(ask(corrected).problem);
}

TEST_F(Live, DryRunReadsTheStateAndWritesNothing)
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

TEST_F(Live, ReturnsNoSamplesOutsideTheInterval)
{
    set_time("12:02");
    auto one = provider();
    ASSERT_THAT(ask(one).samples, SizeIs(1));
    EXPECT_THAT(one.samples(caiso, at("12:01"), at("12:02")).samples, IsEmpty());
}

TEST_F(Live, RejectsAValueFromTheFuture)
{
    set_time("12:02");
    clock_.time = at("11:30");
    auto one = provider();
    auto const answer = ask(one);
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem->remedy, "set the clock");
    EXPECT_THAT(answer.samples, IsEmpty());
    clock_.time = at("12:02");
    auto second = provider();
    EXPECT_THAT(ask(second).samples, SizeIs(1));
}

TEST_F(Live, DiscardsADamagedStateWithAWarning)
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
        auto const before = queries();
        auto next = provider();
        EXPECT_THAT(ask(next).samples, SizeIs(1)) << text;
        EXPECT_EQ(queries(), before + 1) << text;
    }
    EXPECT_THAT(log_, HasSubstr("discarding earlier values"));
}

TEST_F(Live, IgnoresAStateThatOthersCouldHaveWritten)
{
    set_time("12:02");
    auto first = provider();
    ASSERT_THAT(ask(first).samples, SizeIs(1));
    std::filesystem::permissions(folder_ / "state", std::filesystem::perms{0777});
    auto second = provider();
    auto const answer = ask(second);
    EXPECT_THAT(answer.samples, IsEmpty());
    ASSERT_TRUE(answer.problem);
    EXPECT_EQ(answer.problem->code, ExitCode::permission);
}

TEST_F(Live, LogsWarningsOfTheProvider)
{
    set_time("12:02");
    server_.control("fault=warnings&endpoint=forecast");
    auto one = provider();
    (void)ask(one);
    EXPECT_THAT(log_, HasSubstr("WattTime warns about CAISO_NORTH: EXAMPLE_WARNING"));
}

TEST_F(Live, RevealsNoSecret)
{
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    set_time("12:02");
    std::string output;
    for (auto const* fault : {"", "status503", "html", "truncated", "percentile", "oversize",
                              "redirect", "status403", "cut_off"}) {
        server_.control(std::string("no_faults&forget_tokens&times=99&fault=") + fault);
        std::filesystem::remove(folder_ / "state/watttime-CAISO_NORTH.json");
        auto one = provider();
        if (auto const answer = ask(one); answer.problem)
            output += answer.problem->message() + "\n";
        auto with_wrong_password = provider("correct-horse-battery");
        std::filesystem::remove(folder_ / "state/watttime-token.json");
        std::filesystem::remove(folder_ / "state/watttime-CAISO_NORTH.json");
        if (auto const answer = ask(with_wrong_password); answer.problem)
            output += answer.problem->message() + "\n";
    }
    output +=
        testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr() + log_;
    for (auto const* file : {"cmdline", "environ"})
        output += read_file(std::filesystem::path("/proc/self") / file).value();
    EXPECT_THAT(output, HasSubstr("cannot"));
    for (auto const* secret :
         {WattTimeServer::password, "correct-horse-battery", "header.payload", "Bearer", "Basic "})
        EXPECT_THAT(output, Not(HasSubstr(secret)));
}

TEST_F(Live, NeverWritesThePasswordToTheStateFolder)
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
