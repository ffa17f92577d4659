// SPDX-License-Identifier: Apache-2.0
#include "signals/http.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "support/watttime_server.hpp"

namespace curtail::signals {
namespace {

using test::WattTimeServer;
using testing::HasSubstr;
using testing::Not;

HttpRequest request(std::string url, Millis deadline = Seconds{10})
{
    HttpRequest r{.url = std::move(url), .username = {}};
    r.deadline = deadline;
    return r;
}

TEST(Secret, NeverPrintsItself)
{
    Secret const secret("hunter2");
    std::ostringstream out;
    out << secret;
    EXPECT_EQ(out.str(), "***");
    EXPECT_EQ(fmt::format("{}", secret), "***");
    EXPECT_EQ(testing::PrintToString(secret), "***");
}

TEST(Secret, MovesWithoutLeavingACopy)
{
    Secret a("hunter2");
    Secret const b(std::move(a));
    EXPECT_STREQ(b.reveal(), "hunter2");
    EXPECT_TRUE(a.empty());
    EXPECT_STREQ(a.reveal(), "");
}

TEST(Secret, ComparesByContent)
{
    EXPECT_EQ(Secret("a"), Secret("a"));
    EXPECT_FALSE(Secret("a") == Secret("b"));
    EXPECT_FALSE(Secret("a") == Secret("ab"));
}

class RefusedUrls : public testing::TestWithParam<char const*> {};

TEST_P(RefusedUrls, AreNeverAsked)
{
    HttpClient client;
    auto const response = client.get(request(GetParam()));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::config) << response.error().message();
    EXPECT_THAT(response.error().message(), Not(HasSubstr("secret")));
}

INSTANTIATE_TEST_SUITE_P(Urls, RefusedUrls,
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
    HttpClient client_;
};

TEST_F(Http, NobodyListeningIsTemporary)
{
    auto const response = client_.get(request("http://127.0.0.1:1/"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
}

TEST_F(Http, AnswerOfAnyStatusIsAnAnswer)
{
    auto const response = client_.get(request(server_.url() + "/v3/nothing")).value();
    EXPECT_EQ(response.status, 401);
    EXPECT_EQ(response.content_type, "text/html");
}

TEST_F(Http, SlowAnswerEndsAtTheDeadline)
{
    server_.control("fault=slow");
    auto const start = mono_now();
    auto const response = client_.get(request(server_.url() + "/v3/forecast", Millis{200}));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
    EXPECT_THAT(response.error().message(), HasSubstr("no whole answer within 0.2 s"));
    EXPECT_LT(mono_now() - start, Seconds{5});
}

TEST_F(Http, BodyIsCountedWhileItArrives)
{
    server_.control("fault=oversize");
    auto const response = client_.get(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::data);
    EXPECT_THAT(response.error().message(), HasSubstr("larger than 8388608 bytes"));
}

TEST_F(Http, BodyOfExactlyTheLimitIsTakenAndOneByteMoreIsNot)
{
    auto r = request(server_.url() + "/_control?none");
    r.body_limit = 2;  // the answer is {}
    EXPECT_EQ(client_.get(r).value().body, "{}");
    r.body_limit = 1;
    ASSERT_FALSE(client_.get(r));
    EXPECT_EQ(client_.get(r).error().code, ExitCode::data);
}

TEST_F(Http, EndlessHeadersAreRefused)
{
    server_.control("fault=many_headers");
    auto const response = client_.get(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::data);
    EXPECT_THAT(response.error().message(), HasSubstr("headers larger than 32768 bytes"));
}

TEST_F(Http, AnswerCutOffIsTemporary)
{
    server_.control("fault=cut_off");
    auto const response = client_.get(request(server_.url() + "/v3/forecast"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::temporary);
}

TEST_F(Http, RedirectIsNotFollowed)
{
    server_.control("fault=redirect");
    Secret const token("token");
    auto r = request(server_.url() + "/v3/forecast");
    r.bearer = &token;
    EXPECT_EQ(client_.get(r).value().status, 302);
    EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(Http, CredentialsDoNotStayForTheNextRequest)
{
    Secret const password(WattTimeServer::password);
    auto r = request(server_.url() + "/login");
    r.username = "alice";
    r.password = &password;
    EXPECT_EQ(client_.get(r).value().status, 200);
    EXPECT_EQ(client_.get(request(server_.url() + "/login")).value().status, 403);
}

TEST(Https, CertificateOfTheGivenAuthorityIsTrusted)
{
    WattTimeServer server("IP:127.0.0.1");
    HttpClient client(server.certificate());
    EXPECT_EQ(client.get(request(server.url() + "/v3/nothing")).value().status, 401);
}

TEST(Https, UnknownAuthorityIsRefused)
{
    WattTimeServer server("IP:127.0.0.1");
    HttpClient client;
    auto const response = client.get(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_THAT(response.error().message(), HasSubstr("its certificate is not trusted"));
    EXPECT_TRUE(server.requests().empty());
}

TEST(Https, CertificateOfAnotherHostIsRefused)
{
    WattTimeServer server("IP:127.0.0.1");
    HttpClient client(server.certificate());
    auto url = server.url();
    url.replace(url.find("127.0.0.1"), 9, "localhost");
    auto const response = client.get(request(url + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_TRUE(server.requests().empty());
}

TEST(Https, ExpiredCertificateIsRefused)
{
    WattTimeServer server("IP:127.0.0.1", -1);
    HttpClient client(server.certificate());
    auto const response = client.get(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::permission);
    EXPECT_THAT(response.error().message(), HasSubstr("expired"));
}

TEST(Https, MissingAuthorityFileIsAMatterOfConfiguration)
{
    WattTimeServer server("IP:127.0.0.1");
    HttpClient client("/no/such.pem");
    auto const response = client.get(request(server.url() + "/v3/nothing"));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, ExitCode::config);
}

}  // namespace
}  // namespace curtail::signals
