// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "storage/s3/bucket.hpp"

namespace curtail::s3 {

/// Reads one object from its beginning to its end. Private to Bucket.
class ObjectDownload {
  public:
    ObjectDownload(Session& session, std::string const& key, Bytes limit, Bucket::Sink const& sink,
                   CallLimits const& call);
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
    CallLimits const& call_;
    std::string what_;
    std::string etag_;
    Bytes whole_{0};
    std::int64_t received_{0};
    std::int64_t requested_from_{0};
    bool too_large_{false};
};

/// Reads ranges of one object. Thread-safe. Private to Bucket.
class RangeReader {
  public:
    /// `whole` and `etag` are the size and the ETag that the object must have.
    RangeReader(Session& session, std::string const& key, std::size_t whole, std::string etag);
    /// Reads the bytes from `offset` on into `out`. After a broken connection, goes on where it
    /// broke off.
    [[nodiscard]] Result<void> read(std::size_t offset, std::span<std::byte> out,
                                    CallLimits const& call);
    /// Returns whether a read has found that the object does not exist.
    [[nodiscard]] bool missing() const { return missing_; }
    /// Returns the error for an object of another size, if a read has found one.
    [[nodiscard]] std::optional<Error> size_error() const;

  private:
    struct Range;
    /// Requests what has not arrived yet of a range.
    [[nodiscard]] Session::Attempt request_rest(Range& range, CallLimits const& call);
    /// Returns whether `size` is the size that the object must have. Remembers another size.
    bool has_size(std::int64_t size);

    Session& session_;
    std::string const& key_;
    std::size_t whole_;
    std::string etag_;
    std::string what_;
    std::atomic<bool> missing_{false};
    std::atomic<std::int64_t> other_size_{-1};
};

/// Reads the object that `head` describes in several ranges at a time, and passes its content to
/// `sink` in order. Holds as many parts in memory as it requests at a time. Returns false if the
/// object does not exist any more; then it has not called `sink`. Fails with `temporary` if the
/// object is replaced or removed later.
[[nodiscard]] Result<bool> read_in_order(Session& session, std::string const& key,
                                         ObjectHead const& head, TransferSizes const& sizes,
                                         Bucket::Sink const& sink, CallLimits const& call);

}  // namespace curtail::s3
