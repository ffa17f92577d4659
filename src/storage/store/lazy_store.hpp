// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>

#include "storage/store/object_store.hpp"

namespace curtail::store {

/// Opens a store when it is first used. If this fails, the operation fails with the same error, and
/// the next operation tries again.
class LazyStore final : public ObjectStore {
  public:
    explicit LazyStore(Address address) : address_(std::move(address)) {}

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
    [[nodiscard]] Result<std::shared_ptr<ObjectStore>> opened();
    Address address_;
    std::mutex mutex_;
    std::shared_ptr<ObjectStore> store_;
};

}  // namespace curtail::store
