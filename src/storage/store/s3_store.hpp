// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "storage/s3/bucket.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::store {

/// A store in a bucket of an S3 server. The name of an object is its key, after the prefix of the
/// bucket's location. docs/object-storage.md lists the requirements on the server.
class S3Store final : public ObjectStore {
  public:
    explicit S3Store(s3::Bucket bucket) : bucket_(std::move(bucket)) {}

    [[nodiscard]] Result<CreateOutcome> create(ObjectName const& name,
                                               std::span<std::byte const> bytes,
                                               CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> put(ObjectName const& name, Pieces const& bytes,
                                   CallLimits const& call = {}) override;
    [[nodiscard]] Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink,
                                    CallLimits const& call = {}) override;
    [[nodiscard]] Result<std::optional<ObjectInfo>> stat(ObjectName const& name,
                                                         CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> remove(ObjectName const& name, CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> list(ObjectFolder const& folder, std::string const& after,
                                    Visit const& visit, CallLimits const& call = {}) override;
    [[nodiscard]] Result<std::vector<Leftover>> leftovers(ObjectFolder const& folder,
                                                          CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> remove_leftover(Leftover const& leftover,
                                               CallLimits const& call = {}) override;
    [[nodiscard]] Result<bool> keeps_versions(CallLimits const& call = {}) override;

  private:
    [[nodiscard]] std::string name_of(std::string const& key) const;
    s3::Bucket bucket_;
};

}  // namespace curtail::store
