// SPDX-License-Identifier: Apache-2.0
// The examples of "Signature Calculations for the Authorization Header" in the Amazon S3 API
// reference.
#include "storage/s3/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/digest.hpp"

namespace curtail::s3 {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

struct Signature : testing::Test {
    Credentials const credentials{.key_id = "AKIAIOSFODNN7EXAMPLE",
                                  .key = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
                                  .token = {}};
    Time const now = *parse_time("2013-05-24T00:00:00Z");
    SignatureInput input{.host = "examplebucket.s3.amazonaws.com",
                         .path = "/",
                         .query = {},
                         .headers = {},
                         .body_sha256 = sha256("").hex()};

    [[nodiscard]] std::string authorization(SignedRequest const& result) const
    {
        for (auto const& [name, value] : result.headers)
            if (name == "authorization") return value;
        return {};
    }
    [[nodiscard]] std::string signed_now() const
    {
        return authorization(sign(input, credentials, "us-east-1", now));
    }
};

TEST_F(Signature, OfAGetWithARange)
{
    input.path = "/test.txt";
    input.headers = {{"Range", "bytes=0-9"}};
    EXPECT_EQ(signed_now(),
              "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
              "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
              "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(Signature, OfAPutWithACharacterToEncode)
{
    input.method = http::Method::put;
    input.path = "/test$file.text";
    input.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    input.body_sha256 = sha256("Welcome to Amazon S3.").hex();
    EXPECT_THAT(signed_now(),
                EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST_F(Signature, OfAQueryWithoutAValue)
{
    input.query = {{"lifecycle", ""}};
    auto const result = sign(input, credentials, "us-east-1", now);
    EXPECT_EQ(result.target, "/?lifecycle=");
    EXPECT_THAT(authorization(result),
                EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST_F(Signature, SortsTheQuery)
{
    input.query = {{"prefix", "J"}, {"max-keys", "2"}};
    auto const result = sign(input, credentials, "us-east-1", now);
    EXPECT_EQ(result.target, "/?max-keys=2&prefix=J");
    EXPECT_THAT(authorization(result),
                EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST_F(Signature, SendsAndSignsTheSessionToken)
{
    Credentials const temporary{.key_id = "ID", .key = Secret("k"), .token = Secret("t0ken")};
    auto const result = sign(input, temporary, "us-east-1", now);
    EXPECT_THAT(authorization(result), HasSubstr("x-amz-date;x-amz-security-token,"));
    EXPECT_NE(
        authorization(result),
        authorization(sign(input, {.key_id = "ID", .key = Secret("k"), .token = Secret("other")},
                           "us-east-1", now)));
}

TEST(SignatureEncoding, KeepsOnlyUnreservedCharacters)
{
    EXPECT_EQ(encode("aZ09-._~", false), "aZ09-._~");
    EXPECT_EQ(encode("a b+c/d=\xc3\xa9", false), "a%20b%2Bc%2Fd%3D%C3%A9");
    EXPECT_EQ(encode("a/b@c", true), "a/b%40c");
}

}  // namespace
}  // namespace curtail::s3
