// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "core/call.hpp"
#include "payload/payload.hpp"
#include "payload/value_memory.hpp"
#include "rounds/record.hpp"
#include "store/verified.hpp"
#include "train/made_payloads.hpp"

// Reading and verifying payloads.
namespace curtail::train {

using payload::Values;

/// Where payloads are read, and into which memory. The store, the layout and the made payloads must
/// outlive it.
struct PayloadSource {
    store::ObjectStore& store;
    payload::Layout const& layout;
    MadePayloads const& made;
    payload::ValueMemory memory;
};

/// Reads the payload that `part` names. Returns the values that were stored if this process made it
/// and still holds them.
[[nodiscard]] tl::expected<Values, store::ReadFailure> read_payload(PayloadSource const& source,
                                                                    rounds::PartRef const& part,
                                                                    Call const& call);

/// Who receives the values of a payload.
struct ValueReceiver {
    payload::ChunkDecoder::Sink take;
    /// The values that were taken have no meaning. All values come again, from the first.
    std::function<void()> restart = [] {};
};
/// Reads the payload that `part` names as read_payload() does, and passes its values on while they
/// arrive. If this fails,
/// the values that were passed on have no meaning. Holds a payload as a whole only if it has
/// another form than payload::encode() gives.
[[nodiscard]] tl::expected<void, store::ReadFailure> pass_payload(PayloadSource const& source,
                                                                  rounds::PartRef const& part,
                                                                  ValueReceiver const& receiver,
                                                                  Call const& call);

}  // namespace curtail::train
