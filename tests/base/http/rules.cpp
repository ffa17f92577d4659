// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "base/http/protocols.hpp"
#include "base/http/retry_after.hpp"
#include "base/http/url.hpp"

namespace curtail::http {
namespace {

TEST(Url, SplitsSchemeHostAndCredentials)
{
    auto const url = parse_url("HTTPS://User:pa@ss@API.example.org:8443/v3?x=1").value();
    EXPECT_EQ(url.scheme, "https");
    EXPECT_EQ(url.host, "api.example.org");
    EXPECT_TRUE(url.has_credentials);
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(parse_url("http://[::1]:80/")->host, "[::1]");
    EXPECT_EQ(parse_url("http://[::1]:80/")->port, 80);
    EXPECT_EQ(parse_url("http://[::1]/")->port, std::nullopt);
    EXPECT_FALSE(parse_url("http://127.0.0.1?user@host")->has_credentials);
}

TEST(Url, RejectsTextThatLibcurlMightReadDifferently)
{
    for (auto const* text : {"",
                             "::",
                             "example.org",
                             "https:/example.org",
                             "https://",
                             "https:///path",
                             "://host",
                             "https://a b/",
                             "https://a\tb/",
                             "https://ex\xC3\xA4mple.org/",
                             "https://a%2eb/",
                             "https://[::1",
                             "https://[127.0.0.1]/",
                             "https://[::1]x/",
                             "https://a:b/",
                             "https://a:/",
                             "https://a:1234567/",
                             "https://a:65536/",
                             "https://a:80:80/",
                             "ht-tp://a/"})
        EXPECT_FALSE(parse_url(text)) << text;
    // Some parsers end the host at a backslash, others do not: the host must be harmless both ways.
    EXPECT_EQ(parse_url("http://example.org\\@127.0.0.1/")->host, "example.org");
}

TEST(Url, OnlyTheLoopbackInterfaceIsLoopback)
{
    for (auto const* host : {"127.0.0.1", "127.255.0.1", "localhost", "[::1]"})
        EXPECT_TRUE(is_loopback(host)) << host;
    for (auto const* host : {"0.0.0.0", "10.0.0.1", "127.0.0.1.example.org", "[::]", "127.1", ""})
        EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(RetryAfter, IsASecondsCountOrADate)
{
    auto const now = parse_time("2026-01-11T12:00:00Z").value();
    EXPECT_EQ(parse_retry_after("Retry-After: 7\r\n", now), Seconds{7});
    EXPECT_EQ(parse_retry_after("retry-after:\t7", now), Seconds{7});
    EXPECT_EQ(parse_retry_after("Retry-After: Sun, 11 Jan 2026 12:01:30 GMT\r\n", now),
              Seconds{90});
    EXPECT_EQ(parse_retry_after("Retry-After: 9223372036854775807", now), Seconds{86'400});
    for (auto const* line :
         {"Retry-After: 0", "Retry-After: -5", "Retry-After: soon", "Retry-After:", "Retry",
          "X-Retry-After: 7", "Retry-After: Sun, 11 Jan 2026 11:59:00 GMT"})
        EXPECT_FALSE(parse_retry_after(line, now)) << line;
}

// libcurl's answer to a request of `url` with a handle restricted to https or http.
CURLcode ask(char const* url, bool https, bool by_name)
{
    std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> const easy(curl_easy_init(),
                                                                   curl_easy_cleanup);
    curl_easy_setopt(easy.get(), CURLOPT_URL, url);
    curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "*");
    EXPECT_EQ(restrict_protocols(easy.get(), https, by_name), CURLE_OK);
    return curl_easy_perform(easy.get());
}

TEST(Protocols, AreRestrictedByNameAndByTheFallbackForOlderLibcurl)
{
    for (bool const by_name : {false, has_protocol_names()}) {
        // Port 1 has no listener: a permitted protocol gets as far as connecting.
        EXPECT_EQ(ask("http://127.0.0.1:1/", false, by_name), CURLE_COULDNT_CONNECT);
        EXPECT_EQ(ask("https://127.0.0.1:1/", true, by_name), CURLE_COULDNT_CONNECT);
        EXPECT_EQ(ask("http://127.0.0.1:1/", true, by_name), CURLE_UNSUPPORTED_PROTOCOL);
        EXPECT_EQ(ask("https://127.0.0.1:1/", false, by_name), CURLE_UNSUPPORTED_PROTOCOL);
        EXPECT_EQ(ask("file:///etc/passwd", true, by_name), CURLE_UNSUPPORTED_PROTOCOL);
    }
}

}  // namespace
}  // namespace curtail::http
