// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <random>

#include "store/object_store.hpp"

namespace curtail::store {

/// The probability, per request, of each fault.
struct Faults {
    double lost_request{0};  ///< create returns `unknown` and is never carried out
    double lost_reply{0};    ///< create returns `unknown` and was carried out
    double delayed_create{
        0};                   ///< create returns `unknown`; a later request carries it out, or none
    double stale_missing{0};  ///< read and stat report an existing object as missing
    double short_read{0};     ///< read passes on only the beginning, without an error
    double corrupt_read{0};   ///< read flips one bit
    double unavailable{0};    ///< any request fails with `temporary` and does nothing
    double no_space{0};       ///< create and put fail with `io` and do nothing
};

/// A store for tests that forwards requests to another store and injects faults. The same seed and
/// the same sequence of requests give the same faults.
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
    void land_delayed();                 ///< carries out every delayed create now
    [[nodiscard]] int injected() const;  ///< number of faults so far

  private:
    struct Delayed {
        ObjectName name;
        Content bytes;
    };
    [[nodiscard]] bool draw(double probability);
    /// Precedes every request: may carry out delayed creates, and fails if the store is away or
    /// full.
    [[nodiscard]] Result<void> begin(char const* act, ObjectName const& name, bool writes);
    void land_some_delayed();
    void damage(Content& content);

    ObjectStore& inner_;
    mutable std::mutex mutex_;
    Faults faults_;
    std::mt19937_64 random_;
    std::vector<Delayed> delayed_;
    int injected_{0};
};

}  // namespace curtail::store
