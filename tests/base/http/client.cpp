// SPDX-License-Identifier: Apache-2.0
#include "base/http/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "base/core/clock.hpp"
#include "support/watttime_server.hpp"

namespace curtail::http {
namespace {

using test::WattTimeServer;
using testing::HasSubstr;
using testing::Not;

Request request(std::string url, Millis deadline = Seconds{10})
{
    Request r{.url = std::move(url), .username = {}};
    r.deadline = deadline;
    return r;
}

class ForbiddenUrls : public testing::TestWithParam<char const*> {};

TEST_P(ForbiddenUrls, AreNeverRequested)
{
    Client client;
    auto const response = client.send(request(GetParam()));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::config) << response.error().message();
    EXPECT_THAT(response.error().message(), Not(HasSubstr("secret")));
}

INSTANTIATE_TEST_SUITE_P(Urls, ForbiddenUrls,
                         testing::Values("http://api.watttime.org/login",
                                         "http://127.0.0.1.example.org/",
                                         "http://10.0.0.1/?key=secret", "ftp://127.0.0.1/",
                                         "file:///etc/passwd", "https://alice@127.0.0.1/",
                                         "http://0.0.0.0/", "", "::"));

class Http : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_server = std::make_unique<WattTimeServer>(); }
    static void TearDownTestSuite() { shared_server.reset(); }
    Http() { server_.control("reset"); }

    static inline std::unique_ptr<WattTimeServer> shared_server;
    WattTimeServer& server_{*shared_server};
    Client client_;
};

TEST_F(Http, ClosedPortIsATemporaryFailure)
{
    auto const response = client_.send(request("http://127.0.0.1:1/"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
}

TEST_F(Http, ReturnsResponsesOfAnyStatus)
{
    auto const response = client_.send(request(server_.url() + "/v3/nothing")).value();
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(response.header("content-type"), "text/html");
}

TEST_F(Http, SlowResponseEndsAtTheDeadline)
{
    server_.control("fault=slow");
    auto const start = monotonic_now();
    auto const response = client_.send(request(server_.url() + "/v3/forecast", Millis{200}));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
    EXPECT_THAT(response.error().message(), HasSubstr("no complete response within 0.2 s"));
    EXPECT_LT(monotonic_now() - start, Seconds{5});
}

TEST_F(Http, AResponseThatStallsIsGivenUp)
{
    server_.control("fault=slow");
    auto stalled = request(server_.url() + "/v3/forecast", Seconds{30});
    stalled.stall_limit = Millis{200};
    auto const response = client_.send(stalled);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
    EXPECT_THAT(response.error().message(), HasSubstr("no data for 0.2 s"));
}

TEST_F(Http, EnforcesTheBodyLimitDuringTheTransfer)
{
    server_.control("fault=oversize");
    auto const response = client_.send(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::data);
    EXPECT_THAT(response.error().message(), HasSubstr("larger than 8388608 bytes"));
}

TEST_F(Http, AcceptsABodyOfExactlyTheLimit)
{
    auto r = request(server_.url() + "/_control?none");
    r.body_limit = 2;  // the response is {}
    EXPECT_EQ(client_.send(r).value().body, "{}");
    r.body_limit = 1;
    ASSERT_FALSE(client_.send(r));
    EXPECT_EQ(client_.send(r).error().code, ExitCode::data);
}

TEST_F(Http, RejectsEndlessHeaders)
{
    server_.control("fault=many_headers");
    auto const response = client_.send(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::data);
    EXPECT_THAT(response.error().message(), HasSubstr("the headers are larger than 32768 bytes"));
}

TEST_F(Http, TruncatedResponseIsATemporaryFailure)
{
    server_.control("fault=cut_off");
    auto const response = client_.send(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
}

TEST_F(Http, DoesNotFollowRedirects)
{
    server_.control("fault=redirect");
    Secret const token("token");
    auto r = request(server_.url() + "/v3/forecast");
    r.bearer = &token;
    EXPECT_EQ(client_.send(r).value().status, 302);
    EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(Http, ForgetsCredentialsAfterTheRequest)
{
    Secret const password(WattTimeServer::password);
    auto r = request(server_.url() + "/login");
    r.username = "alice";
    r.password = &password;
    EXPECT_EQ(client_.send(r).value().status, 200);
    EXPECT_EQ(client_.send(request(server_.url() + "/login")).value().status, 403);
}

TEST(Https, TrustsTheGivenAuthority)
{
    WattTimeServer server("IP:127.0.0.1");
    Client client({server.certificate(), {}});
    EXPECT_EQ(client.send(request(server.url() + "/v3/nothing")).value().status, 401);
}

TEST(Https, RejectsAnUnknownAuthority)
{
    WattTimeServer server("IP:127.0.0.1");
    Client client;
    auto const response = client.send(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_THAT(response.error().message(), HasSubstr("its certificate is not trusted"));
    EXPECT_TRUE(server.requests().empty());
}

TEST(Https, RejectsACertificateOfAnotherHost)
{
    WattTimeServer server("IP:127.0.0.1");
    Client client({server.certificate(), {}});
    auto url = server.url();
    url.replace(url.find("127.0.0.1"), 9, "localhost");
    auto const response = client.send(request(url + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_TRUE(server.requests().empty());
}

TEST(Https, RejectsAnExpiredCertificate)
{
    WattTimeServer server("IP:127.0.0.1", -1);
    Client client({server.certificate(), {}});
    auto const response = client.send(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_THAT(response.error().message(), HasSubstr("expired"));
}

TEST(Https, AnAuthorityFileThatOthersCanChangeIsNotTrusted)
{
    WattTimeServer server("IP:127.0.0.1");
    std::filesystem::path const file = server.certificate();
    std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    Client client({file, {}});
    auto const response = client.send(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_THAT(response.error().message(), HasSubstr("chmod go-w " + file.string()));
}

TEST(Https, MissingAuthorityFileIsAConfigurationError)
{
    WattTimeServer server("IP:127.0.0.1");
    Client client({"/no/such.pem", {}});
    auto const response = client.send(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::config);
}

}  // namespace
}  // namespace curtail::http
