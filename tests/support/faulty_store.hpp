// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <random>

#include "storage/store/object_store.hpp"

namespace curtail::store {

/// The probability of each fault in one request, 0 to 1.
struct Faults {
    double lost_request{0};  ///< create returns `unknown` and never creates the object
    double lost_reply{0};    ///< `inner` carries out the create, but the caller gets `unknown`
    /// create returns `unknown`. Each later request creates the object with probability 0.2.
    double delayed_create{0};
    double stale_missing{0};  ///< read and stat report an existing object as missing
    double unlisted{0};       ///< list leaves out an object
    double short_read{0};     ///< read passes on only the first part of the object, and succeeds
    double corrupt_read{0};   ///< read flips one bit of the content, and succeeds
    /// Any request fails with `temporary` (not with `unavailable`) and has no effect.
    double unavailable{0};
    double no_space{0};  ///< create and put fail with `io` and have no effect
    /// create replaces an existing object and returns `created`.
    double ignored_condition{0};
    double lost_put_reply{0};  ///< `inner` carries out the put, but it fails with `temporary`
    /// Any request ends only when its CallLimits are over. It fails with `temporary` and has no
    /// effect.
    double no_answer{0};
    double slow{0};  ///< any request waits for `delay` first, or until its CallLimits are over
    Millis delay{10};
};

/// A store for tests that forwards requests to the store `inner` and injects faults. The same seed
/// and the same sequence of requests give the same faults. `inner` must outlive this store.
class FaultyStore final : public ObjectStore {
  public:
    FaultyStore(ObjectStore& inner, Faults faults, std::uint64_t seed)
        : inner_(inner), faults_(faults), random_(seed)
    {
    }

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

    void set_faults(Faults faults);      ///< takes effect with the next request
    void land_delayed();                 ///< creates the objects of all delayed creates now
    [[nodiscard]] int injected() const;  ///< number of faults injected so far

  private:
    struct Delayed {
        ObjectName name;
        Content bytes;
    };
    /// Returns true with the given probability. If it returns true, it counts one fault.
    [[nodiscard]] bool draw(double probability);
    using Lock = std::unique_lock<std::mutex>;
    enum class Effect { reads, writes };
    /// Runs at the start of every request. `act` is the verb for error messages, for example
    /// "read". First carries out each delayed create with probability 0.2. Then waits if it draws
    /// the fault `slow`, without the lock. Fails with `temporary` if it draws `no_answer` or
    /// `unavailable`. Fails with `io` if it draws `no_space` and the request writes.
    [[nodiscard]] Result<void> begin(Lock& lock, char const* act, std::string const& name,
                                     Effect effect, CallLimits const& call);
    void land_some_delayed();
    void damage(Content& content);  ///< may shorten `content`, flip one of its bits, or both

    ObjectStore& inner_;
    mutable std::mutex mutex_;
    Faults faults_;
    std::mt19937_64 random_;
    std::vector<Delayed> delayed_;
    int injected_{0};
};

}  // namespace curtail::store
