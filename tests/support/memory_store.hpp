// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>

#include "base/core/clock.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::store {

/// A store in the memory of this process, for tests and simulations.
class MemoryStore final : public ObjectStore {
  public:
    /// Creates an empty store. `clock` gives the objects' times and must outlive the store. If
    /// `clock` is null, the store uses the system's clock.
    explicit MemoryStore(Clock const* clock = nullptr) : clock_(clock) {}

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
    [[nodiscard]] std::vector<ObjectName> names() const;  ///< names of all objects, sorted

  private:
    struct Object {
        std::shared_ptr<Content const> content;
        Time modified;
    };
    [[nodiscard]] Object object_of(Pieces const& bytes) const;

    Clock const* clock_;
    mutable std::mutex mutex_;
    std::map<ObjectName, Object> objects_;
};

}  // namespace curtail::store
