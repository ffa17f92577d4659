// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "storage/s3/bucket.hpp"
#include "support/s3_server.hpp"

namespace curtail::s3 {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;

/// A server that fails on request, and a bucket whose objects of over 1 MiB travel in parts.
class FailingServer : public testing::Test {
  protected:
    static void SetUpTestSuite() { shared_server = std::make_unique<test::S3Server>(); }
    static void TearDownTestSuite() { shared_server.reset(); }
    FailingServer()
    {
        server_.control("reset");
        server_.write_credentials(test::S3Server::secret);
    }
    [[nodiscard]] Bucket bucket(AddressingStyle addressing = AddressingStyle::path,
                                std::string const& name = "bucket") const
    {
        bool const by_host = addressing == AddressingStyle::virtual_host;
        auto location = complete({.bucket = name,
                                  .prefix = "p",
                                  .endpoint = by_host ? server_.localhost_url() : server_.url(),
                                  .addressing = addressing,
                                  .allow_http = by_host})
                            .value();
        return Bucket(std::make_shared<Session>(
                          std::move(location),
                          std::make_shared<CredentialSource>(
                              CredentialOptions{.file = server_.credentials()}, Environment{}),
                          http::ConnectionSettings{}, std::make_shared<SystemClock>()),
                      {.single_limit = {mib}, .part = {mib}, .parallel = 3});
    }
    static std::string bytes(std::size_t size)
    {
        std::mt19937 random(static_cast<unsigned>(size));
        std::string text(size, '\0');
        for (auto& c : text) c = static_cast<char>(random());
        return text;
    }
    static Result<std::string> read(Bucket& from, std::string const& key)
    {
        std::string text;
        auto const found = from.get(key, {100 * mib}, [&](auto piece, Bytes) {
            text.append(reinterpret_cast<char const*>(piece.data()), piece.size());
        });
        if (!found) return tl::unexpected(found.error());
        return *found ? text : "(missing)";
    }

    static inline std::unique_ptr<test::S3Server> shared_server;
    test::S3Server& server_{*shared_server};
};

}  // namespace curtail::s3
