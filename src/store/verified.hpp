// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/digest.hpp"
#include "core/units.hpp"
#include "store/object_store.hpp"

namespace curtail::store {

/// Why a payload could not be had.
struct ReadFailure {
    enum class Kind {
        missing,  ///< there is no such object: read the chain forward, it may have been superseded
        corrupt,  ///< it is there, but its length or digest is not what the record says
        unavailable  ///< the store did not answer
    };
    Kind kind;
    Error error;
};

/// The object `name` of exactly `size` bytes with digest `digest`, hashed while it streams in. Up
/// to three tries with `pause` between them, since a short or damaged read may be the transport's
/// doing; the last try's finding counts.
[[nodiscard]] tl::expected<Content, ReadFailure> read_verified(ObjectStore& store,
                                                               ObjectName const& name, Bytes size,
                                                               Digest const& digest,
                                                               Millis pause = Millis{100});

}  // namespace curtail::store
