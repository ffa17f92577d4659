// SPDX-License-Identifier: Apache-2.0
// The WattTime client against a test server that responds, and fails, as the real one does.
#include "poller/signals/watttime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>

#include "base/core/files.hpp"
#include "support/child_process.hpp"
#include "support/watttime_server.hpp"

namespace curtail::signals::watttime {
namespace {

using test::TemporaryFolder;
using test::WattTimeServer;
using testing::HasSubstr;
using testing::SizeIs;

RegionId const caiso{"CAISO_NORTH"};
Time const noon = parse_time("2026-01-11T12:02:30Z").value();

class ManualClock final : public Clock {
  public:
    Time time{noon};
    [[nodiscard]] Time now() const override { return time; }
};

class WattTime : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_server = std::make_unique<WattTimeServer>(); }
    static void TearDownTestSuite() { shared_server.reset(); }
    WattTime() { server_.control("reset&now=2026-01-11T12:02:30Z"); }
    AccountClient client(std::string const& password = WattTimeServer::password)
    {
        Options options;
        options.base_url = server_.url();
        options.state_folder = folder_ / "state";
        options.deadline = deadline_;
        options.pause = [this](Millis duration) { pauses_.push_back(duration); };
        return {{"alice", Secret(password)}, std::move(options), clock_};
    }
    [[nodiscard]] Error refusal(Result<samples::watttime::Points> const& points) const
    {
        return points ? Error{ExitCode::ok, "accepted", "", ""} : points.error();
    }
    std::size_t logins() { return server_.requests("/login").size(); }

    static inline std::unique_ptr<WattTimeServer> shared_server;
    WattTimeServer& server_{*shared_server};
    TemporaryFolder folder_;
    ManualClock clock_;
    Millis deadline_{Seconds{20}};
    std::vector<Millis> pauses_;
};

TEST_F(WattTime, LiveValueIsTheFirstPointOfTheForecastInGrams)
{
    auto const points = client().live(caiso).value();
    ASSERT_THAT(points.samples, SizeIs(1));
    auto const& sample = points.samples.front();
    EXPECT_EQ(sample.time, parse_time("2026-01-11T12:00Z").value());
    EXPECT_EQ(sample.intensity, GramsPerKwh{870 * 0.453592});
    EXPECT_EQ(sample.type, samples::SignalType::marginal);
    EXPECT_EQ(sample.provider, "watttime");
    EXPECT_EQ(sample.generated_at, parse_time("2026-01-11T12:00Z").value());
    EXPECT_EQ(sample.period, Seconds{300}) << "data_point_period_seconds of the response";
    EXPECT_EQ(sample.estimated, std::nullopt) << "a forecast has no mark of imputed data";
    EXPECT_TRUE(points.warnings.empty());
}

TEST_F(WattTime, ValueKeepsWhatTheProviderSent)
{
    auto const sample = client().live(caiso).value().samples.front();
    ASSERT_TRUE(sample.origin);
    auto const& origin = *sample.origin;
    EXPECT_EQ(origin.endpoint, server_.url() + "/v3/forecast");
    EXPECT_EQ(origin.unit, "lbs_co2_per_mwh");
    EXPECT_EQ(origin.value, 870);
    EXPECT_EQ(origin.received, clock_.now());
    EXPECT_EQ(origin.model, "2023-03-01");
    EXPECT_THAT(origin.licence, HasSubstr("WattTime Terms of Service"));
    // The answer itself, which Python unpacks.
    auto const unpacked = curtail::test::run_program(
        {"/usr/bin/python3", "-c",
         "import base64,gzip,sys;print(gzip.decompress(base64.b64decode(sys.argv[1])).decode())",
         origin.answer});
    auto const answer = json::parse(unpacked.output, "answer");
    ASSERT_TRUE(answer) << unpacked.output;
    auto const& meta = *answer->as_object()->find("meta")->as_object();
    EXPECT_EQ(meta.text_at("region"), "CAISO_NORTH");
    EXPECT_EQ(meta.text_at("signal_type"), "co2_moer");
}

TEST_F(WattTime, LogsInOnceForManyQueries)
{
    auto one = client();
    ASSERT_TRUE(one.live(caiso));
    ASSERT_TRUE(one.live(caiso));
    EXPECT_EQ(logins(), 1U);
}

TEST_F(WattTime, NextProcessReusesTheToken)
{
    ASSERT_TRUE(client().live(caiso));
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 1U);
    struct stat status {};
    ASSERT_EQ(stat((folder_ / "state/watttime-token.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(WattTime, StoredTokenIsValidFor29Minutes)
{
    ASSERT_TRUE(client().live(caiso));
    clock_.time = noon + Seconds{29 * 60 - 1};
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 1U);
    clock_.time = noon + Seconds{29 * 60};
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 2U);
}

TEST_F(WattTime, IgnoresTokensOfOtherAccountsAndFromTheFuture)
{
    ASSERT_TRUE(client().live(caiso));
    clock_.time = noon - Seconds{1};
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 2U);
    auto text = read_file(folder_ / "state/watttime-token.json").value();
    text.replace(text.find("\"account\":\"") + 11, 4, "0000");
    ASSERT_TRUE(write_file(folder_ / "state/watttime-token.json", text, 0600));
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 3U);
}

TEST_F(WattTime, DamagedTokenFileCostsOneLogin)
{
    ASSERT_TRUE(client().live(caiso));
    ASSERT_TRUE(write_file(folder_ / "state/watttime-token.json", "{\"tok", 0600));
    ASSERT_TRUE(client().live(caiso));
    EXPECT_EQ(logins(), 2U);
}

TEST_F(WattTime, RejectsATokenFileThatOthersCanRead)
{
    ASSERT_TRUE(client().live(caiso));
    ASSERT_EQ(chmod((folder_ / "state/watttime-token.json").c_str(), 0644), 0);
    auto const error = refusal(client().live(caiso));
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.remedy, HasSubstr("chmod 600"));
}

TEST_F(WattTime, RejectsAStateFolderThatOthersCanEnter)
{
    ASSERT_TRUE(client().live(caiso));
    ASSERT_EQ(chmod((folder_ / "state").c_str(), 0755), 0);
    EXPECT_EQ(refusal(client().live(caiso)).code, ExitCode::permission);
}

TEST_F(WattTime, RenewsAnExpiredTokenOnce)
{
    auto one = client();
    ASSERT_TRUE(one.live(caiso));
    server_.control("forget_tokens");
    ASSERT_TRUE(one.live(caiso));
    EXPECT_EQ(logins(), 2U);
}

TEST_F(WattTime, GivesUpIfANewTokenIsRejected)
{
    server_.control("token_life_s=0");
    auto const error = refusal(client().live(caiso));
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_EQ(logins(), 1U);
    ASSERT_TRUE(write_file(folder_ / "state/none", ""));
    EXPECT_EQ(refusal(client().live(caiso)).code, ExitCode::permission);
    EXPECT_EQ(logins(), 2U);  // tried the stored token, then a new one, then gave up
}

TEST_F(WattTime, ReportsAWrongPassword)
{
    auto const error = refusal(client("wrong").live(caiso));
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.message(), HasSubstr("wrong user name or password"));
    EXPECT_EQ(logins(), 1U);
}

TEST_F(WattTime, ExplainsMissingAccessWithoutRetry)
{
    auto const error = refusal(client().live({"SPP_TX"}));
    EXPECT_EQ(error.code, ExitCode::permission);
    EXPECT_THAT(error.message(), HasSubstr("no access to that region"));
    EXPECT_THAT(error.message(), HasSubstr("only CAISO_NORTH"));
    EXPECT_EQ(logins(), 1U);
    EXPECT_THAT(server_.requests("/v3/"), SizeIs(1));
}

TEST_F(WattTime, SendsNoInvalidRegionName)
{
    EXPECT_EQ(refusal(client().live({"CAISO&signal_type=x"})).code, ExitCode::config);
    EXPECT_TRUE(server_.requests().empty());
}

TEST_F(WattTime, RetriesAfterTheWaitThatTheServerRequests)
{
    server_.control("fault=status429&endpoint=forecast");
    EXPECT_TRUE(client().live(caiso));
    EXPECT_EQ(pauses_, std::vector<Millis>{Seconds{2}});
}

TEST_F(WattTime, RetriesAFailingServerOnce)
{
    for (auto const* fault : {"status500", "status503", "status429"}) {
        pauses_.clear();
        auto one = client();
        server_.control(std::string("no_faults&fault=") + fault + "&times=99");
        auto const error = refusal(one.live(caiso));
        EXPECT_EQ(error.code, ExitCode::temporary) << fault;
        ASSERT_THAT(pauses_, SizeIs(1)) << fault;
        EXPECT_GE(pauses_.front(), Millis{500});
        EXPECT_LE(pauses_.front(), Seconds{5});
    }
}

TEST_F(WattTime, SlowResponsesEndAtTheDeadline)
{
    deadline_ = Millis{300};
    server_.control("fault=slow&times=9&endpoint=forecast");
    auto const start = monotonic_now();
    EXPECT_EQ(refusal(client().live(caiso)).code, ExitCode::temporary);
    EXPECT_LT(monotonic_now() - start, Seconds{3});
    EXPECT_TRUE(pauses_.empty());
}

TEST_F(WattTime, LogsInAgainAfterAResponseThatIsNotJson)
{
    auto one = client();
    ASSERT_TRUE(one.live(caiso));
    for (auto const& [fault, code] :
         {std::pair("html", ExitCode::temporary), std::pair("truncated", ExitCode::data)}) {
        auto const before = logins();
        server_.control(std::string("fault=") + fault + "&endpoint=forecast");
        EXPECT_TRUE(one.live(caiso)) << fault;
        EXPECT_EQ(logins(), before + 1) << fault;
        server_.control(std::string("fault=") + fault + "&endpoint=forecast&times=2");
        auto const error = refusal(one.live(caiso));
        EXPECT_EQ(error.code, code) << fault;
        EXPECT_EQ(error.why.find("an HTML page, not JSON") != std::string::npos,
                  code == ExitCode::temporary);
        EXPECT_EQ(logins(), before + 2) << fault;
    }
}

struct BadResponse {
    char const* fault;
    char const* message;
};
class WattTimeBadResponses : public WattTime, public testing::WithParamInterface<BadResponse> {};

TEST_P(WattTimeBadResponses, AreRejected)
{
    server_.control(std::string("times=9&endpoint=forecast&fault=") + GetParam().fault);
    auto const error = refusal(client().live(caiso));
    EXPECT_EQ(error.code, ExitCode::data);
    EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WattTimeBadResponses,
    testing::Values(BadResponse{"percentile", "its units are \"percentile\", not lbs_co2_per_mwh"},
                    BadResponse{"kilograms", "its units are \"kg_co2_per_mwh\""},
                    BadResponse{"other_region", "its region is \"SPP_TX\""},
                    BadResponse{"other_signal", "its signal is \"health_damage\""},
                    BadResponse{"text_value", "is text, not a number"},
                    BadResponse{"absurd_value", "is 394625 g/kWh, outside -2000 to 5000"},
                    BadResponse{"no_zone", "it has no time zone"},
                    BadResponse{"empty", "the forecast is empty"},
                    BadResponse{"no_meta", "it has no object \"meta\""},
                    BadResponse{"oversize", "larger than 8388608 bytes"},
                    BadResponse{"redirect", "HTTP 302"}),
    [](auto const& tested) { return std::string(tested.param.fault); });

TEST_F(WattTime, NullValueIsASampleWithoutIntensity)
{
    server_.control("fault=null_value&endpoint=forecast");
    auto const points = client().live(caiso).value();
    ASSERT_THAT(points.samples, SizeIs(1));
    EXPECT_FALSE(points.samples.front().intensity);
}

TEST_F(WattTime, WarningsArePrintable)
{
    server_.control("fault=warnings&endpoint=forecast");
    EXPECT_EQ(client().live(caiso).value().warnings,
              std::vector<std::string>{R"(EXAMPLE_WARNING: the model\x1b is old)"});
}

}  // namespace
}  // namespace curtail::signals::watttime
