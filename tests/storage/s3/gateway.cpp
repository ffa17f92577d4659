// SPDX-License-Identifier: Apache-2.0
// Objects in parts, against a real server. tests/storage/store/contract.cpp tests everything else
// there.
#include <gtest/gtest.h>

#include "storage/s3/bucket.hpp"
#include "support/rgw.hpp"

namespace curtail::s3 {
namespace {

constexpr std::int64_t part{std::int64_t{5} << 20};  // the least that S3 allows

class Gateway : public testing::Test {
  protected:
    [[nodiscard]] Bucket bucket() const
    {
        auto location = complete({.bucket = bucket_, .endpoint = rgw_.endpoint()}).value();
        auto credentials = std::make_shared<CredentialSource>(
            CredentialOptions{.file = rgw_.credentials()}, Environment{});
        auto session =
            std::make_shared<Session>(std::move(location), std::move(credentials),
                                      http::ConnectionSettings{}, std::make_shared<SystemClock>());
        return Bucket(std::move(session), {.single_limit = {part}, .part = {part}, .parallel = 3});
    }

    test::Rgw rgw_;
    std::string bucket_{rgw_.make_bucket("parts")};
};

TEST_F(Gateway, ALargeObjectTravelsInParts)
{
    auto b = bucket();
    std::string content(static_cast<std::size_t>(3 * part + 1), '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i >> 7);
    auto const stored = b.put("k", std::string_view(content));
    ASSERT_TRUE(stored) << stored.error().message();
    std::string back;
    auto const found = b.get("k", {10 * part}, [&](auto piece, Bytes) {
        back.append(reinterpret_cast<char const*>(piece.data()), piece.size());
    });
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(back == content);
}

TEST_F(Gateway, AnUploadLeavesItsMarkOnTheObject)
{
    auto b = bucket();
    ASSERT_TRUE(b.put("k", std::string_view(std::string(static_cast<std::size_t>(part) + 1, 'x'))));
    auto const head =
        b.session().send({.method = http::Method::head, .key = "k", .what = "cannot look"}, {});
    ASSERT_TRUE(head) << head.error().message();
    EXPECT_EQ(head->header("x-amz-meta-curtail-upload").size(), 32U);
}

}  // namespace
}  // namespace curtail::s3
