// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/digest.hpp"
#include "core/units.hpp"
#include "store/object_store.hpp"

namespace curtail::store {

/// Why a payload could not be read.
struct ReadFailure {
    enum class Cause {
        missing,  ///< the object does not exist; a member may have deleted it after a newer merge
        corrupt,  ///< the object's size or digest is wrong, or it is not a regular file
        unavailable  ///< the store failed; `error` is its error
    };
    Cause cause;
    Error error;
};

/// Reads the object `name` and checks that it has `size` bytes and the digest `digest`. Reads up to
/// three times, with a pause of `pause` in between, because a failure may be temporary. If all
/// reads fail, returns the cause of the last failure.
[[nodiscard]] tl::expected<Content, ReadFailure> read_verified(ObjectStore& store,
                                                               ObjectName const& name, Bytes size,
                                                               Digest const& digest,
                                                               Millis pause = Millis{100});

}  // namespace curtail::store
