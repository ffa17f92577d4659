// SPDX-License-Identifier: Apache-2.0
// The client against a server that fails on request. tests/storage/store/contract.cpp runs it
// against a real one.
#include "storage/s3/bucket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "storage/s3/failing_server.hpp"
#include "support/eventually.hpp"

namespace curtail::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(FailingServer, EveryRequestIsSignedInBothStyles)
{
    for (auto const style : {AddressingStyle::path, AddressingStyle::virtual_host}) {
        auto b = bucket(style);
        ASSERT_TRUE(b.put("a b+c&=é/$", std::string_view("x"))) << static_cast<int>(style);
        EXPECT_EQ(*read(b, "a b+c&=é/$"), "x");
        EXPECT_EQ(b.list("a b+", "")->objects.at(0).key, "p/a b+c&=é/$");
    }
}

TEST_F(FailingServer, ACreateWhoseReplyIsLostIsUnknownAndNotRepeated)
{
    auto b = bucket();
    for (auto const* fault : {"lost_reply", "lost_request", "status500", "status503:SlowDown"}) {
        server_.control("reset");
        server_.control(std::string("method=PUT&fault=") + fault);
        EXPECT_EQ(*b.create("k", std::string_view("x")), Creation::unknown) << fault;
        EXPECT_THAT(server_.requests("PUT"), SizeIs(1)) << fault;
    }
    server_.control("fault=status409:ConditionalRequestConflict&method=PUT");
    EXPECT_EQ(*b.create("other", std::string_view("x")), Creation::unknown);
}

TEST_F(FailingServer, ACreateIsNotRepeatedOnAConnectionThatWasOpen)
{
    auto b = bucket();
    for (auto const* fault : {"lost_reply", "lost_request"}) {
        server_.control("reset");
        server_.control("no_continue");  // libcurl repeats nothing after any response
        ASSERT_TRUE(b.head("k")) << "leaves a connection open";
        server_.control(std::string("method=PUT&fault=") + fault);
        EXPECT_EQ(*b.create("k", std::string_view("x")), Creation::unknown) << fault;
        EXPECT_THAT(server_.requests("PUT"), SizeIs(1)) << fault;
    }
}

TEST_F(FailingServer, ACreateAfterALostReplyFindsTheObject)
{
    auto b = bucket();
    server_.control("fault=lost_reply&method=PUT");
    EXPECT_EQ(*b.create("k", std::string_view("mine")), Creation::unknown);
    EXPECT_EQ(*b.create("k", std::string_view("mine")), Creation::exists);
    EXPECT_EQ(*read(b, "k"), "mine");
}

TEST_F(FailingServer, AnIgnoredConditionShows)
{
    auto b = bucket();
    server_.control("fault=ignore_conditions&method=PUT&times=2");
    EXPECT_EQ(*b.create("k", std::string_view("1")), Creation::created);
    EXPECT_EQ(*b.create("k", std::string_view("2")), Creation::created);
}

TEST_F(FailingServer, ReadsAndWritesAreRepeatedUntilTheServerRecovers)
{
    auto b = bucket();
    for (auto const* fault : {"lost_reply", "lost_request", "status500", "status502", "status503",
                              "status400:RequestTimeout"}) {
        server_.control(std::string("times=2&fault=") + fault);
        EXPECT_TRUE(b.put("k", std::string_view("x"))) << fault;
        server_.control(std::string("method=GET&times=2&fault=") + fault);
        auto const found = read(b, "k");
        ASSERT_TRUE(found) << fault << found.error().message();
        EXPECT_EQ(*found, "x") << fault;
    }
    server_.control("fault=status500&times=5");
    auto const failed = b.head("k");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::temporary);
    EXPECT_THAT(failed.error().message(), HasSubstr("status 500"));
}

TEST_F(FailingServer, ADenialIsNotRepeated)
{
    auto b = bucket();
    server_.control("fault=status403:AccessDenied&times=9");
    EXPECT_EQ(b.put("k", std::string_view("x")).error().code, ExitCode::permission);
    EXPECT_THAT(server_.requests("PUT"), SizeIs(1));
    EXPECT_EQ(b.create("k", std::string_view("x")).error().code, ExitCode::permission);
}

TEST_F(FailingServer, AMissingBucketIsNotAMissingObject)
{
    auto b = bucket(AddressingStyle::path, "other");
    EXPECT_EQ(read(b, "k").error().code, ExitCode::unavailable);
    EXPECT_EQ(b.head("k").error().code, ExitCode::unavailable);
    EXPECT_EQ(b.put("k", std::string_view("x")).error().code, ExitCode::unavailable);
}

TEST_F(FailingServer, A404ThatIsNotOfTheStoreIsNotAMissingObject)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view("x")));
    server_.control("fault=html404&times=99");
    auto const code_of = [](auto const& result) {
        return result ? ExitCode::ok : result.error().code;
    };
    EXPECT_EQ(code_of(read(b, "k")), ExitCode::unavailable);
    EXPECT_EQ(code_of(b.head("k")), ExitCode::unavailable);
    EXPECT_EQ(code_of(b.remove("k")), ExitCode::unavailable);
    EXPECT_EQ(code_of(b.abort("k", "upload-1")), ExitCode::unavailable);
    server_.control("reset");
    ASSERT_TRUE(b.put("k", std::string_view("x")));
    server_.control("fault=html404&times=2");
    auto const found = b.head("k");
    ASSERT_TRUE(found && *found) << "repeated";
    EXPECT_EQ((*found)->size, Bytes{1});
}

TEST_F(FailingServer, AConflictOfAnotherRequestIsRepeated)
{
    auto b = bucket();
    for (auto const* code : {"ConditionalRequestConflict", "OperationAborted"}) {
        server_.control(std::string("method=PUT&times=2&fault=status409:") + code);
        auto const stored = b.put("k", std::string_view("x"));
        EXPECT_TRUE(stored) << stored.error().message();
    }
}

TEST_F(FailingServer, AClockThatIsWrongByHoursIsCorrected)
{
    auto b = bucket();
    for (auto const* offset : {"3600", "-7200"}) {
        server_.control(std::string("clock_offset_s=") + offset);
        EXPECT_EQ(*b.create(std::string("k") + offset, std::string_view("x")), Creation::created);
        auto const seconds = std::chrono::duration_cast<Seconds>(b.session().clock_offset());
        EXPECT_NEAR(static_cast<double>(seconds.count()), std::stod(offset), 5);
    }
    // A response to HEAD does not say why it is refused.
    auto other = bucket();
    EXPECT_TRUE(other.head("k3600"));
    auto const before = server_.requests().size();
    EXPECT_TRUE(b.head("k3600"));
    EXPECT_EQ(server_.requests().size(), before + 1) << "the correction stays";
}

TEST_F(FailingServer, CredentialsChangedDuringARunAreReadAgain)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view("x")));
    server_.control("secret=another");
    auto const refused = b.head("k");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::permission);
    EXPECT_THAT(refused.error().message(), testing::Not(HasSubstr(test::S3Server::secret)));
}

TEST_F(FailingServer, ABrokenReadGoesOnWhereItBrokeOff)
{
    auto b = bucket();
    auto const content = bytes(700'000);
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    server_.control("fault=cut_off:100000&method=GET");
    server_.control("fault=cut_off:200000&method=GET");
    EXPECT_TRUE(*read(b, "k") == content);
    EXPECT_THAT(server_.requests("GET"), SizeIs(3));
}

TEST_F(FailingServer, ABrokenReadOfAReplacedObjectFails)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view(bytes(700'000))));
    server_.control("fault=cut_off:100000&method=GET");
    bool replaced = false;
    auto const found = b.get("k", {mib}, [&](auto, Bytes) {
        if (!replaced) replaced = b.put("k", std::string_view("new")).has_value();
    });
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::temporary);
}

TEST_F(FailingServer, AServerThatIgnoresRangesIsAnError)
{
    auto b = bucket();
    auto const content = bytes(700'000);
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    server_.control("fault=cut_off:100000&method=GET");
    server_.control("fault=ignore_range&method=GET&times=9");
    EXPECT_EQ(read(b, "k").error().code, ExitCode::protocol) << "the object may be good";
}

// As behind a proxy that answers in chunks.
TEST_F(FailingServer, AnAnswerWithoutContentLengthSaysSo)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view("content")));
    server_.control("fault=chunked&method=GET&times=9");
    EXPECT_THAT(read(b, "k").error().message(), HasSubstr("does not state its Content-Length"));
}

TEST_F(FailingServer, AListingHasAllItsPages)
{
    auto b = bucket();
    for (auto const* key : {"a/1", "a/2", "a/3", "b/1", "a/4", "a/5"})
        ASSERT_TRUE(b.put(key, std::string_view("12")));
    std::vector<std::string> keys;
    std::string token;
    do {
        auto const page = b.list("a/", token).value();
        for (auto const& object : page.objects) keys.push_back(object.key);
        token = page.next;
    } while (!token.empty());
    EXPECT_THAT(keys, ElementsAre("p/a/1", "p/a/2", "p/a/3", "p/a/4", "p/a/5"));
}

// The server never answers: only cancelling or the time limit ends the operation.

TEST_F(FailingServer, AnOperationEndsWhenItIsCancelled)
{
    auto b = bucket();
    server_.control("fault=hang&times=99");
    std::stop_source stop;
    std::jthread const later([&] {
        (void)test::eventually([&] { return !server_.requests("PUT").empty(); });
        stop.request_stop();
    });
    auto const start = monotonic_now();
    auto const ended = b.put("k", std::string_view("x"), {.cancel = stop.get_token()});
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message(), HasSubstr("cancelled"));
    EXPECT_LT(monotonic_now() - start, Seconds{20});
    EXPECT_THAT(server_.requests("PUT"), SizeIs(1));
}

TEST_F(FailingServer, AnOperationEndsAtItsTimeLimit)
{
    auto b = bucket();
    server_.control("fault=hang&times=99");
    auto const start = monotonic_now();
    auto const ended = b.head("k", {.until = start + Millis{300}});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ExitCode::temporary);
    EXPECT_LT(monotonic_now() - start, Seconds{20});
}

TEST_F(FailingServer, APauseIsShorterThanTheTimeThatIsLeft)
{
    auto b = bucket();
    server_.control("fault=status503:SlowDownADay");
    auto const stored =
        b.put("k", std::string_view("x"), {.until = monotonic_now() + Millis{3'000}});
    EXPECT_TRUE(stored) << stored.error().message();
}

TEST_F(FailingServer, AProxyPassesRequestsOn)
{
    Bucket b(std::make_shared<Session>(
        complete({.bucket = "bucket", .endpoint = "http://s3.example.org", .allow_http = true})
            .value(),
        std::make_shared<CredentialSource>(CredentialOptions{.file = server_.credentials()},
                                           Environment{}),
        http::ConnectionSettings{.proxy = server_.url()}, std::make_shared<SystemClock>()));
    EXPECT_TRUE(b.put("k", std::string_view("x")));
    EXPECT_THAT(server_.requests(), ElementsAre("PUT http://s3.example.org/bucket/k"));
}

TEST_F(FailingServer, VersioningIsDetected)
{
    auto b = bucket();
    EXPECT_FALSE(*b.has_versioning());
}

}  // namespace
}  // namespace curtail::s3
