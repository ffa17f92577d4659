// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "s3/bucket.hpp"

namespace curtail::s3 {

/// Reads one object from its beginning to its end. Private to Bucket.
class Stream {
  public:
    Stream(Session& session, std::string const& key, Bytes limit, Bucket::Sink const& sink,
           Call const& call);
    /// See Bucket::get().
    [[nodiscard]] Result<bool> run();

  private:
    /// Requests what has not arrived yet.
    [[nodiscard]] Session::Attempt request_rest();
    /// Passes a piece on. Returns false if the object is too large, or not the one that earlier
    /// responses were about.
    bool accept(http::Response const& head, std::span<std::byte const> piece);

    Session& session_;
    std::string const& key_;
    Bytes limit_;
    Bucket::Sink const& sink_;
    Call const& call_;
    std::string what_;
    std::string etag_;
    Bytes whole_{0};
    std::int64_t received_{0};
    std::int64_t requested_from_{0};
    bool too_large_{false};
};

/// Reads one object of known size into memory, in several ranges at a time. Private to Bucket.
class Downloader {
  public:
    Downloader(Session& session, std::string const& key, std::span<std::byte> out,
               TransferSizes sizes, Call const& call);
    /// See Bucket::download().
    [[nodiscard]] Result<bool> run();

  private:
    /// Reads the bytes from `offset` on into `out`. Sets a flag if the object is missing or has
    /// another size.
    [[nodiscard]] Result<void> read_range(std::size_t offset, std::span<std::byte> out,
                                          Call const& call);

    Session& session_;
    std::string const& key_;
    std::span<std::byte> out_;
    TransferSizes sizes_;
    Call const& call_;
    std::string what_;
    std::atomic<bool> missing_{false};
    std::atomic<std::int64_t> other_size_{-1};
};

}  // namespace curtail::s3
