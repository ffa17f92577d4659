// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>

#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// The store into which a run is copied or forked. Never replaces a record. Thread-safe.
class Destination {
  public:
    /// `act` is what the caller does, for error messages: `copy` or `fork`.
    Destination(store::ObjectStore& store, RunId const& run, std::string act = "copy")
        : objects_(store, run), act_(std::move(act))
    {
    }

    [[nodiscard]] chain::RunObjects const& objects() const { return objects_; }

    /// Returns whether the destination has the record. Fails with `protocol` if it has other bytes
    /// under this name.
    [[nodiscard]] Result<bool> has(std::string const& name, Digest const& sha256);
    /// Makes sure that the destination has the record. Fails with `protocol` if it has other bytes
    /// under this name, and with `temporary` if the store does not answer.
    [[nodiscard]] Result<void> record(std::string const& name, std::string const& bytes);

    /// Returns whether the destination has the payload. Reads all of it to compare the digest.
    [[nodiscard]] Result<bool> has(protocol::PartRef const& part);
    /// Stores a payload, and replaces a damaged one.
    [[nodiscard]] Result<void> put(protocol::PartRef const& part, store::Content const& content);

    /// The error of a record that differs.
    [[nodiscard]] tl::unexpected<Error> differs(std::string const& name) const;

    struct Counts {
        std::int64_t written{};  ///< objects that were written
        Bytes bytes;             ///< their size
        std::int64_t found{};    ///< objects that were there and are right
    };
    [[nodiscard]] Counts counts() const;

  private:
    void count_written(std::size_t bytes);
    void count_found();

    chain::RunObjects objects_;
    std::string act_;
    mutable std::mutex mutex_;
    Counts counts_;
};

}  // namespace curtail::operate
