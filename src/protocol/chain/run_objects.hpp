// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "protocol/chain/record_cache.hpp"
#include "protocol/chain/verify.hpp"
#include "storage/store/verified.hpp"

// Access to the objects of one run in its store (docs/formats-store.md).
namespace curtail::chain {

/// Returns the name `runs/<run>/<relative>`. `relative` is a name from protocol/records/names.hpp.
/// Fails with `protocol` if the result has none of the forms in storage/store/object_name.hpp.
[[nodiscard]] Result<store::ObjectName> object_name(RunId const& run, std::string_view relative);

/// A reader for the objects of one run. All names are relative to the run's folder in the store.
/// The store must outlive the reader.
///
/// Every function that returns a Result fails with `protocol` if the object is not a regular file.
/// Reading a record of more than protocol::record_bytes_limit bytes also fails with `protocol`.
/// Other errors of the store are returned unchanged.
class RunObjects {
  public:
    /// `cache` may be null. The functions in protocol/chain/chain.hpp use it; those of this class
    /// always read the store. The cache must outlive the reader. `call` limits the reads of records
    /// and the listings; reads of payloads have CallLimits of their own.
    RunObjects(store::ObjectStore& store, RunId run, RecordCache* cache = nullptr,
               CallLimits call = {})
        : store_(store), run_(std::move(run)), cache_(cache), call_(std::move(call))
    {
    }

    [[nodiscard]] RunId const& run() const { return run_; }
    [[nodiscard]] store::ObjectStore& store() const { return store_; }
    [[nodiscard]] RecordCache* cache() const { return cache_; }  ///< may be null
    [[nodiscard]] CallLimits const& call() const { return call_; }

    [[nodiscard]] Result<bool> exists(std::string const& name) const;
    /// Returns the bytes of a record (run.json, a commit, a header or a lease), without decoding
    /// them. Returns an empty optional if the object does not exist.
    [[nodiscard]] Result<std::optional<std::string>> record(std::string const& name) const;
    /// Reads and decodes run.json. Returns an empty optional if the run has not started.
    /// Fails with `protocol` if run.json is invalid.
    [[nodiscard]] Result<std::optional<protocol::RunSpec>> spec() const;
    /// Reads and decodes one commit. Does not compare the commit with its parent. Returns an empty
    /// optional if the commit does not exist. Fails with `protocol` if the commit is invalid.
    [[nodiscard]] Result<std::optional<protocol::Commit>> commit(CommitNumber number) const;
    /// Reads a payload and returns its actual size and digest. Returns an empty optional if the
    /// object does not exist.
    [[nodiscard]] Result<std::optional<PayloadFacts>> payload_facts(std::string const& name) const;
    /// Reads the payload that `part` names. Fails if the object does not exist. Fails if the size
    /// or digest of the object differs from those in `part`.
    [[nodiscard]] tl::expected<store::Content, store::ReadFailure> payload(
        protocol::PartRef const& part, CallLimits const& call = {}) const;
    /// Reads the payload in the same way, and passes its bytes to `sink` in consecutive pieces.
    /// Calls `begin` before each try, see store::read_verified().
    [[nodiscard]] tl::expected<void, store::ReadFailure> payload(
        protocol::PartRef const& part, std::function<void()> const& begin,
        std::function<void(std::span<std::byte const> piece)> const& sink,
        CallLimits const& call = {}) const;

    /// Returns functions that read these objects, for the checks in protocol/chain/verify.hpp. The
    /// store must outlive the returned functions.
    [[nodiscard]] VerifySource source() const;

  private:
    store::ObjectStore& store_;
    RunId run_;
    RecordCache* cache_;
    CallLimits call_;
};

}  // namespace curtail::chain
