// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <random>

#include "store/object_store.hpp"

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
                                               Call const& call = {}) override;
    [[nodiscard]] Result<void> put(ObjectName const& name, Pieces const& bytes,
                                   Call const& call = {}) override;
    [[nodiscard]] Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink,
                                    Call const& call = {}) override;
    [[nodiscard]] Result<std::optional<ObjectInfo>> stat(ObjectName const& name,
                                                         Call const& call = {}) override;
    [[nodiscard]] Result<void> remove(ObjectName const& name, Call const& call = {}) override;
    [[nodiscard]] Result<void> list(ObjectFolder const& folder, std::string const& after,
                                    Visit const& visit, Call const& call = {}) override;
    [[nodiscard]] Result<std::vector<Leftover>> leftovers(ObjectFolder const& folder,
                                                          Call const& call = {}) override;
    [[nodiscard]] Result<void> remove_leftover(Leftover const& leftover,
                                               Call const& call = {}) override;
    [[nodiscard]] Result<bool> keeps_versions(Call const& call = {}) override;

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
    /// Runs at the start of every request. `act` is the verb for error messages, for example
    /// "read". First carries out each delayed create with probability 0.2. Then fails with
    /// `temporary` if it draws the fault `unavailable`. If `writes` is true, it also fails with
    /// `io` if it draws the fault `no_space`.
    [[nodiscard]] Result<void> begin(char const* act, std::string const& name, bool writes);
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
