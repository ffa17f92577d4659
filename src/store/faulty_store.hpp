// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <random>

#include "store/object_store.hpp"

namespace curtail::store {

/// How often, 0 to 1 per request, a FaultyStore goes wrong in each way.
struct Faults {
    double lost_request{0};  ///< create answers `unknown` and never happens
    double lost_reply{0};    ///< create answers `unknown` and has happened
    double delayed_create{
        0};  ///< create answers `unknown` and happens before some later request, or never
    double stale_missing{0};  ///< read and stat answer that there is no such object though there is
    double short_read{0};     ///< read hands out only the beginning, without a failure
    double corrupt_read{0};   ///< read hands out one flipped bit
    double unavailable{0};    ///< any request fails with `temporary` and does nothing
    double no_space{0};       ///< create and put fail with `io` and do nothing
};

/// A store that misbehaves on purpose: passes requests on to another one, with faults drawn from a
/// seed. The same seed and the same sequence of requests give the same faults.
class FaultyStore final : public ObjectStore {
  public:
    FaultyStore(ObjectStore& inner, Faults faults, std::uint64_t seed)
        : inner_(inner), faults_(faults), random_(seed)
    {
    }

    [[nodiscard]] Result<CreateOutcome> create(ObjectName const& name,
                                               std::span<std::byte const> bytes) override;
    [[nodiscard]] Result<void> put(ObjectName const& name,
                                   std::span<std::byte const> bytes) override;
    [[nodiscard]] Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink) override;
    [[nodiscard]] Result<std::optional<ObjectInfo>> stat(ObjectName const& name) override;
    [[nodiscard]] Result<void> remove(ObjectName const& name) override;

    void set_faults(Faults faults);      ///< from the next request on
    void land_delayed();                 ///< every create still on its way happens now
    [[nodiscard]] int injected() const;  ///< faults so far

  private:
    struct Delayed {
        ObjectName name;
        Content bytes;
    };
    [[nodiscard]] bool draw(double probability);
    /// What happens before any request: a delayed create may land, and the store may be away.
    [[nodiscard]] Result<void> begin(char const* act, ObjectName const& name, bool writes);

    ObjectStore& inner_;
    mutable std::mutex mutex_;
    Faults faults_;
    std::mt19937_64 random_;
    std::vector<Delayed> delayed_;
    int injected_{0};
};

}  // namespace curtail::store
