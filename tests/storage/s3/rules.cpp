// SPDX-License-Identifier: Apache-2.0
// The pure rules of the S3 client: addresses, answers, failures and pauses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/s3/answers.hpp"
#include "storage/s3/extent.hpp"
#include "storage/s3/failure.hpp"
#include "storage/s3/location.hpp"
#include "storage/s3/parts.hpp"

namespace curtail::s3 {
namespace {

using testing::HasSubstr;

TEST(Location, OfABucketAndAPrefix)
{
    auto const whole = parse_location("s3://my.bucket-1").value();
    EXPECT_EQ(whole.bucket, "my.bucket-1");
    EXPECT_EQ(whole.prefix, "");
    EXPECT_EQ(full_key(whole, "runs/x"), "runs/x");
    auto const part = parse_location("s3://bucket/a/b/").value();
    EXPECT_EQ(part.prefix, "a/b");
    EXPECT_EQ(full_key(part, "runs/x"), "a/b/runs/x");
}

TEST(Location, RefusesOtherTexts)
{
    for (auto const* bad :
         {"", "s3:/bucket", "s3://", "s3://ab", "s3://Bucket", "s3://-bucket", "s3://a..bucket",
          "s3://bucket//a", "s3://bucket/a/../b", "s3://bucket/./a", "s3://bucket/a b",
          "s3://bucket/\x01", "file:///bucket"})
        EXPECT_FALSE(parse_location(bad)) << bad;
}

Location at(std::string endpoint, std::optional<AddressingStyle> addressing = {})
{
    return {.bucket = "bucket",
            .prefix = "p",
            .endpoint = std::move(endpoint),
            .addressing = addressing};
}

TEST(Location, ByPathAndByVirtualHost)
{
    auto const by_path = address_of(complete(at("https://s3.example.org:8443/")).value(), "k");
    EXPECT_EQ(by_path.scheme_and_host, "https://s3.example.org:8443");
    EXPECT_EQ(by_path.host, "s3.example.org:8443");
    EXPECT_EQ(by_path.path, "/bucket/p/k");
    auto const by_host = address_of(
        complete(at("https://s3.example.org", AddressingStyle::virtual_host)).value(), "k");
    EXPECT_EQ(by_host.scheme_and_host, "https://bucket.s3.example.org");
    EXPECT_EQ(by_host.path, "/p/k");
    EXPECT_EQ(address_of(complete(at("")).value(), "").scheme_and_host,
              "https://bucket.s3.us-east-1.amazonaws.com");
}

TEST(Location, TheHostOfASignatureHasNoDefaultPort)
{
    for (auto const& [endpoint, host] : {std::pair{"https://s3.example.org:443", "s3.example.org"},
                                         {"https://S3.example.org:0443/", "s3.example.org"},
                                         {"https://s3.example.org:080", "s3.example.org:80"},
                                         {"http://127.0.0.1:80", "127.0.0.1"},
                                         {"http://127.0.0.1:443", "127.0.0.1:443"},
                                         {"https://[::1]:443", "[::1]"},
                                         {"https://[::1]:9000", "[::1]:9000"}}) {
        auto const address = address_of(complete(at(endpoint)).value(), "k");
        EXPECT_EQ(address.host, host) << endpoint;
        EXPECT_TRUE(address.scheme_and_host.ends_with("//" + address.host)) << endpoint;
    }
}

TEST(Location, TheAddressingThatIsSetWinsOrIsRefused)
{
    auto const host_of = [](std::string endpoint, std::optional<AddressingStyle> addressing,
                            std::string const& bucket) -> std::string {
        auto const location =
            complete({.bucket = bucket, .endpoint = std::move(endpoint), .addressing = addressing});
        return location ? address_of(*location, "k").host : location.error().message();
    };
    constexpr auto by_path = AddressingStyle::path;
    constexpr auto by_host = AddressingStyle::virtual_host;
    std::string const amazon = "s3.us-east-1.amazonaws.com";
    EXPECT_EQ(host_of("", {}, "bucket"), "bucket." + amazon);
    EXPECT_EQ(host_of("", by_path, "bucket"), amazon);
    EXPECT_EQ(host_of("", {}, "my.bucket"), amazon);
    EXPECT_THAT(host_of("", by_host, "my.bucket"), HasSubstr("s3.addressing"));
    EXPECT_THAT(host_of("https://" + amazon, by_host, "my.bucket"), HasSubstr("s3.addressing"));
    EXPECT_EQ(host_of("https://example.org", {}, "bucket"), "example.org");
    EXPECT_EQ(host_of("https://example.org", by_host, "my.bucket"), "my.bucket.example.org");
}

TEST(Location, PlainHttpNeedsPermission)
{
    EXPECT_TRUE(complete(at("http://127.0.0.1:1")));
    auto const refused = complete(at("http://10.0.0.1"));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("allow_http"));
    auto allowed = at("http://10.0.0.1");
    allowed.allow_http = true;
    EXPECT_TRUE(complete(allowed));
    EXPECT_FALSE(complete(at("https://s3.example.org/path")));
    EXPECT_FALSE(complete(at("https://user@s3.example.org")));
}

http::Response response(long status, std::string const& code = {})
{
    http::Response r{.status = status};
    if (!code.empty()) r.body = "<Error><Code>" + code + "</Code><Message>m</Message></Error>";
    return r;
}

TEST(Failure, StatusesThatAnswerAreNone)
{
    using http::Method;
    for (long const status : {200L, 204L, 206L, 304L, 412L, 416L})
        EXPECT_TRUE(is_answer(Method::get, response(status))) << status;
    for (long const status : {301L, 400L, 403L, 404L, 409L, 429L, 500L, 503L})
        EXPECT_FALSE(is_answer(Method::get, response(status))) << status;
    for (auto const* code : {"NoSuchKey", "NoSuchUpload"})
        EXPECT_TRUE(is_answer(Method::get, response(404, code))) << code;
    EXPECT_FALSE(is_answer(Method::get, response(404, "NoSuchBucket")));
    EXPECT_TRUE(is_answer(Method::head, response(404))) << "it has no body";
    EXPECT_FALSE(is_answer(Method::post, response(200, "InternalError")));
}

TEST(Failure, HasACureAndAnExitCode)
{
    using Remedy = Failure::Remedy;
    struct Case {
        long status;
        char const* code;
        ExitCode exit;
        Remedy remedy;
    };
    for (auto const& [status, code, exit, remedy] :
         {Case{403, "AccessDenied", ExitCode::permission, Remedy::none},
          Case{403, "SignatureDoesNotMatch", ExitCode::permission, Remedy::renew_key},
          Case{400, "ExpiredToken", ExitCode::permission, Remedy::renew_key},
          Case{403, "RequestTimeTooSkewed", ExitCode::permission, Remedy::set_clock},
          Case{403, "", ExitCode::permission, Remedy::none},
          Case{404, "NoSuchBucket", ExitCode::unavailable, Remedy::none},
          Case{404, "", ExitCode::unavailable, Remedy::wait},
          Case{404, "NoSuchUpload", ExitCode::temporary, Remedy::none},
          Case{409, "OperationAborted", ExitCode::temporary, Remedy::wait},
          Case{409, "", ExitCode::temporary, Remedy::wait},
          Case{200, "InternalError", ExitCode::temporary, Remedy::wait},
          Case{200, "SlowDown", ExitCode::temporary, Remedy::slow_down},
          Case{200, "AccessDenied", ExitCode::permission, Remedy::none},
          Case{200, "Unheard", ExitCode::temporary, Remedy::wait},
          Case{301, "PermanentRedirect", ExitCode::config, Remedy::none},
          Case{403, "QuotaExceeded", ExitCode::io, Remedy::none},
          Case{507, "", ExitCode::io, Remedy::none},
          Case{503, "SlowDown", ExitCode::temporary, Remedy::slow_down},
          Case{429, "", ExitCode::temporary, Remedy::slow_down},
          Case{500, "InternalError", ExitCode::temporary, Remedy::wait},
          Case{400, "RequestTimeout", ExitCode::temporary, Remedy::wait},
          Case{418, "", ExitCode::protocol, Remedy::none}}) {
        auto const failure = failure_of(response(status, code), "cannot x");
        EXPECT_EQ(failure.error.code, exit) << status << code;
        EXPECT_EQ(failure.remedy, remedy) << status << code;
        EXPECT_THAT(failure.error.message(), HasSubstr(std::to_string(status)));
    }
}

TEST(Pause, GrowsAndVariesAndFollowsTheServer)
{
    EXPECT_EQ(pause_before(2, 0, {}), Millis{100});
    EXPECT_EQ(pause_before(2, 1, {}), Millis{50});
    EXPECT_EQ(pause_before(4, 0, {}), Millis{400});
    EXPECT_EQ(pause_before(99, 0, {}), Millis{5'000});
    EXPECT_EQ(pause_before(2, 0.5, Seconds{3}), Millis{3'000});
    EXPECT_EQ(pause_before(2, 0.5, Seconds{86'400}), Millis{30'000});
}

TEST(Answers, OfAListing)
{
    auto const page = parse_list(
        "<?xml version='1.0'?><ListBucketResult xmlns='x'><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t&amp;1</NextContinuationToken>"
        "<Contents><Key>a&lt;b</Key><LastModified>2026-11-24T12:00:00.000Z</LastModified>"
        "<Size>12</Size></Contents></ListBucketResult>");
    ASSERT_TRUE(page) << page.error().message();
    ASSERT_EQ(page->objects.size(), 1U);
    EXPECT_EQ(page->objects[0].key, "a<b");
    EXPECT_EQ(page->objects[0].size, Bytes{12});
    EXPECT_EQ(page->next, "t&1");
}

TEST(Answers, MalformedOnesAreProtocolErrors)
{
    for (auto const* bad :
         {"", "<", "<Other/>",
          "<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
          "<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>"})
        EXPECT_EQ(parse_list(bad).error().code, ExitCode::protocol) << bad;
    EXPECT_FALSE(parse_upload_id("<InitiateMultipartUploadResult/>"));
    EXPECT_FALSE(parse_versioning("<html/>"));
    EXPECT_EQ(parse_error("<html>busy</html>").code, "");
}

TEST(Answers, EntitiesAreNotExpanded)
{
    auto const answer = parse_error(
        "<!DOCTYPE e [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><Error><Code>&x;</Code></Error>");
    EXPECT_EQ(answer.code, "&x;");
}

TEST(Answers, OfVersioning)
{
    EXPECT_FALSE(*parse_versioning("<VersioningConfiguration/>"));
    for (auto const* status : {"Enabled", "Suspended"})
        EXPECT_TRUE(*parse_versioning(std::string("<VersioningConfiguration><Status>") + status +
                                      "</Status></VersioningConfiguration>"));
}

TEST(Answers, ACompletionNamesAllParts)
{
    EXPECT_EQ(completion_of({"\"a\"", "b"}),
              "<?xml version=\"1.0\"?><CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
              "<ETag>\"a\"</ETag></Part><Part><PartNumber>2</PartNumber><ETag>b</ETag></Part>"
              "</CompleteMultipartUpload>");
}

TEST(Extent, OfAResponse)
{
    http::Response r{.status = 206, .headers = {{"Content-Range", "bytes 5-9/20"}}};
    EXPECT_EQ(extent_of(r)->first, 5);
    EXPECT_EQ(extent_of(r)->whole, 20);
    for (auto const* bad : {"", "bytes */20", "bytes 5-9/*", "items 5-9/20", "bytes 30-40/20"}) {
        r.headers[0].value = bad;
        EXPECT_FALSE(extent_of(r)) << bad;
    }
    EXPECT_EQ(range_of(10, 5), "bytes=10-14");
}

TEST(Parts, AreNeverTooMany)
{
    EXPECT_EQ(part_size(100, 40), 40U);
    EXPECT_EQ(part_size(most_parts * 40 + 1, 40), 41U);
}

}  // namespace
}  // namespace curtail::s3
