// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/digest.hpp"
#include "base/core/units.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::store {

/// The reason for which read_verified() failed.
struct ReadFailure {
    enum class Cause {
        missing,  ///< the object does not exist; a member may have deleted it after a newer merge
        corrupt,  ///< the object has a wrong size or digest, or is not a regular file
        unavailable  ///< the store failed, with any error code
    };
    Cause cause;
    Error error;  ///< for the cause `unavailable`, the error of the store; otherwise of code `data`
};

/// Reads the object `name` and passes its content to `sink` in consecutive pieces. Checks that the
/// object has `size` bytes and the digest `digest`. A failure may be temporary, so tries up to
/// three times and waits for `pause` between two tries; calls `begin` before each. If all tries
/// fail or `call` is over, returns the failure of the last one. Then the pieces have no meaning.
[[nodiscard]] tl::expected<void, ReadFailure> read_verified(
    ObjectStore& store, ObjectName const& name, Bytes size, Digest const& digest,
    std::function<void()> const& begin,
    std::function<void(std::span<std::byte const> piece)> const& sink, Millis pause = Millis{100},
    CallLimits const& call = {});

/// Reads the object in the same way, and returns its content.
[[nodiscard]] tl::expected<Content, ReadFailure> read_verified(ObjectStore& store,
                                                               ObjectName const& name, Bytes size,
                                                               Digest const& digest,
                                                               Millis pause = Millis{100},
                                                               CallLimits const& call = {});

}  // namespace curtail::store
