// SPDX-License-Identifier: Apache-2.0
// Objects that travel in parts, against a server that fails on request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "storage/s3/failing_server.hpp"

namespace curtail::s3 {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Transfers : public FailingServer {};

TEST_F(Transfers, LargeObjectsTravelInParts)
{
    auto b = bucket();
    auto const content = bytes(5'500'000);
    Pieces pieces;
    std::string_view const view(content);
    pieces.add(std::as_bytes(std::span(view.substr(0, 1'234'567))));
    pieces.add(std::as_bytes(std::span(view.substr(1'234'567))));
    ASSERT_TRUE(b.put("k", pieces));
    EXPECT_THAT(server_.requests("PUT"), SizeIs(6));
    EXPECT_TRUE(*read(b, "k") == content);
    EXPECT_THAT(server_.requests("GET"), SizeIs(6));
    EXPECT_THAT(b.list_uploads("", {})->uploads, IsEmpty());
}

TEST_F(Transfers, ALargeObjectIsReadInOrderWithSeveralRequests)
{
    auto b = bucket();
    auto const content = bytes(6'500'000);
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    server_.control("method=GET&fault=gather:3&times=3");
    server_.control("method=GET&fault=cut_off:1000&times=2");
    EXPECT_TRUE(*read(b, "k") == content);
    EXPECT_EQ(server_.most_active(), 3);
    server_.control("method=GET&path=k&fault=status403:AccessDenied&times=99");
    EXPECT_EQ(read(b, "k").error().code, ExitCode::permission);
}

TEST_F(Transfers, PartsSurviveFailuresOfTheServer)
{
    auto b = bucket();
    auto const content = bytes(3'500'000);
    for (auto const* fault : {"lost_reply", "status500", "status400:XAmzContentSHA256Mismatch"})
        server_.control(std::string("method=PUT&fault=") + fault);
    server_.control("method=POST&fault=status500&times=2");
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    server_.control("method=GET&fault=cut_off:1000&times=3");
    EXPECT_TRUE(*read(b, "k") == content);
}

TEST_F(Transfers, ACompletionWhoseReplyIsLostSucceeds)
{
    auto b = bucket();
    server_.control("method=POST&path=uploadId&fault=lost_reply");
    EXPECT_TRUE(b.put("k", std::string_view(bytes(2'500'000))));
    EXPECT_EQ((*b.head("k"))->size, Bytes{2'500'000});
}

TEST_F(Transfers, AnOlderObjectIsNotTakenForAnUploadThatIsGone)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view(bytes(2'500'000))));
    server_.control("method=POST&path=uploadId&fault=status404:NoSuchUpload");
    auto const failed = b.put("k", std::string_view(std::string(2'500'000, 'x')));
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), HasSubstr("NoSuchUpload"));
}

TEST_F(Transfers, AnErrorAfterStatus200IsAnError)
{
    auto b = bucket();
    server_.control("method=POST&path=uploadId&fault=late_error&times=2");
    EXPECT_TRUE(b.put("k", std::string_view(bytes(2'500'000)))) << "repeated";
    server_.control("method=POST&path=uploadId&fault=late_error&times=9");
    auto const failed = b.put("other", std::string_view(bytes(2'500'000)));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::temporary);
    EXPECT_THAT(failed.error().message(), HasSubstr("InternalError"));
}

TEST_F(Transfers, AFailedUploadIsAborted)
{
    auto b = bucket();
    server_.control("method=PUT&path=partNumber=2&fault=status403:AccessDenied&times=9");
    EXPECT_EQ(b.put("k", std::string_view(bytes(4'500'000))).error().code, ExitCode::permission);
    EXPECT_THAT(server_.requests("DELETE"), SizeIs(1));
    EXPECT_THAT(b.list_uploads("", {})->uploads, IsEmpty());
    EXPECT_EQ(*b.head("k"), std::nullopt);
}

TEST_F(Transfers, SlowDownHalvesTheRequestsAtATime)
{
    auto b = bucket();
    auto const content = bytes(6'500'000);
    server_.control("method=PUT&fault=gather:3&times=3");
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    EXPECT_EQ(server_.most_active(), 3);
    EXPECT_EQ(b.session().parallelism(3), 3);
    server_.control("method=PUT&path=partNumber=1&fault=status503:SlowDown");
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    EXPECT_EQ(b.session().parallelism(3), 2) << "halved to 1, and one more after the success";
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    EXPECT_EQ(b.session().parallelism(3), 3);
}

TEST_F(Transfers, ALargeObjectThatChangesDuringAReadIsATemporaryError)
{
    auto b = bucket();
    auto const content = bytes(9'500'000);
    for (bool const removes : {false, true}) {
        ASSERT_TRUE(b.put("k", std::string_view(content)));
        bool changed = false;
        auto const change = [&](auto, Bytes) {
            if (std::exchange(changed, true)) return;
            ASSERT_TRUE(removes ? b.remove("k")
                                : b.put("k", std::string_view(std::string(content.size(), 'x'))));
        };
        auto const failed = b.get("k", {100 * mib}, change);
        ASSERT_FALSE(failed) << removes;
        EXPECT_EQ(failed.error().code, ExitCode::temporary) << failed.error().message();
    }
}

TEST_F(Transfers, ASlowDownDuringAReadHalvesItsRequestsAtATime)
{
    auto b = bucket();
    auto const content = bytes(12'500'000);
    ASSERT_TRUE(b.put("k", std::string_view(content)));
    server_.control("method=GET&fault=status503:SlowDown");
    server_.control("method=GET&fault=pause:0.05&times=99");
    std::string back;
    ASSERT_TRUE(*b.get("k", {100 * mib}, [&](auto piece, Bytes) {
        if (back.size() == 4 * mib) server_.control("forget_active");
        back.append(reinterpret_cast<char const*>(piece.data()), piece.size());
    }));
    EXPECT_EQ(server_.most_active(), 1);
    EXPECT_TRUE(back == content);
}

TEST_F(Transfers, AMissingObjectAndAnEmptyOneAreToldApart)
{
    auto b = bucket();
    EXPECT_FALSE(*b.get("none", Bytes{10'000'000}, [](auto const&, Bytes) {}));
    ASSERT_TRUE(b.put("k", Pieces{}));
    EXPECT_EQ(*read(b, "k"), "");
}

}  // namespace
}  // namespace curtail::s3
