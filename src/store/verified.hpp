// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/digest.hpp"
#include "core/units.hpp"
#include "store/object_store.hpp"

namespace curtail::store {

/// Why a payload could not be read.
struct ReadFailure {
    enum class Cause {
        missing,     ///< no such object: a newer commit may have superseded it
        corrupt,     ///< its length or digest differs from the record's
        unavailable  ///< the store did not answer
    };
    Cause cause;
    Error error;
};

/// Reads the object `name`, which must have `size` bytes and the digest `digest`. Hashes while it
/// reads. Tries up to three times with `pause` between, because the transport may have shortened or
/// damaged a read. Returns the result of the last attempt.
[[nodiscard]] tl::expected<Content, ReadFailure> read_verified(ObjectStore& store,
                                                               ObjectName const& name, Bytes size,
                                                               Digest const& digest,
                                                               Millis pause = Millis{100});

}  // namespace curtail::store
