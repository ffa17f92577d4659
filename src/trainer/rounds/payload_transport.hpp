// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "base/core/call_limits.hpp"
#include "protocol/chain/payload_values.hpp"
#include "protocol/site/messages.hpp"
#include "storage/payload/payload.hpp"
#include "storage/payload/value_memory.hpp"
#include "storage/store/verified.hpp"
#include "trainer/rounds/direct_payloads.hpp"
#include "trainer/rounds/made_payloads.hpp"

namespace curtail::trainer {

using payload::Values;

/// Moves payloads between this process and the run's store, one part at a time. Before it reads the
/// store, it tries to get a payload directly from the site that made it. Copies share the store,
/// the direct way and the memory of payloads. Thread-safe.
///
/// The functions that return a Result return the store's error unchanged if it failed.
class PayloadTransport {
  public:
    /// `direct` may be null: then all payloads of others come from the store.
    PayloadTransport(std::shared_ptr<store::ObjectStore> store, payload::Layout layout,
                     std::shared_ptr<DirectPayloads> direct = nullptr);
    /// Returns a transport that uses the direct way only until `time`.
    [[nodiscard]] PayloadTransport direct_until(MonoTime time) const;

    [[nodiscard]] payload::Layout const& layout() const { return *layout_; }
    [[nodiscard]] payload::ValueMemory const& memory() const { return memory_; }

    /// Stores `values` as `place`.
    [[nodiscard]] Result<protocol::PartRef> put(protocol::PayloadPlace const& place,
                                                Values const& values, CallLimits const& call) const;
    /// Stores `bytes` under the name of `part`. Returns false, and stores nothing, if they are not
    /// the bytes that `part` describes.
    [[nodiscard]] Result<bool> put_again(protocol::PartRef const& part, Pieces const& bytes,
                                         CallLimits const& call) const;
    /// Stores the payload again from the values that this process holds (get()). Returns false if
    /// it does not hold them.
    [[nodiscard]] Result<bool> put_made_again(protocol::PartRef const& part,
                                              CallLimits const& call) const;
    /// Reads and verifies the payload that `part` names. Returns the values that were stored if
    /// this process made it and still holds them, and if they still have the digest.
    [[nodiscard]] tl::expected<Values, store::ReadFailure> get(protocol::PartRef const& part,
                                                               CallLimits const& call) const;
    /// Reads the payload as get() does, and passes its values on while they arrive. If this fails,
    /// the values that were passed on have no meaning. Holds a payload as a whole only if it comes
    /// directly, or has another form than payload::encode() gives.
    [[nodiscard]] tl::expected<void, store::ReadFailure> pass(protocol::PartRef const& part,
                                                              chain::ValueReceiver const& receiver,
                                                              CallLimits const& call) const;
    /// Returns whether the store has the payload as `part` describes it. Reads all its bytes.
    [[nodiscard]] Result<bool> has(protocol::PartRef const& part, CallLimits const& call) const;
    /// Removes the payload if it exists.
    [[nodiscard]] Result<void> discard(std::string const& name, CallLimits const& call) const;

  private:
    /// A merge makes a model and a momentum.
    static constexpr std::size_t most_unused = 2;

    [[nodiscard]] Result<store::ObjectName> object(std::string const& name) const;
    /// Reads a payload of any form, or says why it is of no use.
    [[nodiscard]] tl::expected<Values, store::ReadFailure> get_any_form(
        protocol::PartRef const& part, CallLimits const& call) const;

    [[nodiscard]] Values get_made(protocol::PartRef const& part) const;
    [[nodiscard]] Values get_direct(protocol::PartRef const& part, CallLimits const& call) const;

    std::shared_ptr<store::ObjectStore> store_;
    std::shared_ptr<payload::Layout const> layout_;
    std::shared_ptr<MadePayloads> made_{std::make_shared<MadePayloads>()};
    payload::ValueMemory memory_{most_unused};
    std::shared_ptr<DirectPayloads> direct_;
    MonoTime direct_until_{MonoTime::max()};
};

}  // namespace curtail::trainer
