// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/files.hpp"
#include "protocol/chain/payload_values.hpp"
#include "protocol/records/record.hpp"
#include "run/runlog/trainer_events.hpp"
#include "storage/payload/payload.hpp"
#include "storage/payload/value_memory.hpp"
#include "trainer/bridge/bridges.hpp"

namespace curtail::trainer {

/// Returns the form in which this program writes the payload.
[[nodiscard]] chain::PayloadForm form_of(payload::Layout const& layout,
                                         protocol::PartRef const& part);

/// Payloads that come directly from the site that made them, over MPI. The store has them too: what
/// fails here costs a time limit, and then the store is read. Thread-safe.
class DirectPayloads {
  public:
    /// `timeout` limits one payload.
    DirectPayloads(std::shared_ptr<bridge::Bridges> bridges, Millis timeout)
        : bridges_(std::move(bridges)), timeout_(timeout)
    {
    }
    /// Offers a payload that the store has.
    void offer(payload::Layout const& layout, protocol::PartRef const& part,
               payload::Values const& values);
    /// Offers the bytes of `file` instead of values that are offered already.
    void offer_file(protocol::PartRef const& part, Fd file);
    void withdraw(protocol::PartRef const& part);
    void set_members(MemberId const& own, std::vector<MemberId> const& members);
    /// Fetches a payload from the site that made it, or takes it from what this site offers, and
    /// verifies it. Returns null if that fails or if the call is over.
    [[nodiscard]] payload::Values fetch(payload::Layout const& layout,
                                        protocol::PartRef const& part,
                                        payload::ValueMemory const& memory, CallLimits const& call);
    /// Counts a payload that was read from the store, unless a process of this site made it.
    void count_store(protocol::PartRef const& part);
    /// Returns what has been read since the last call, without a round; empty if nothing.
    [[nodiscard]] std::optional<runlog::PayloadsRead> take_read();

  private:
    [[nodiscard]] payload::Values failed(std::string why);
    /// Passes the payload's bytes to `sink`: from `own`, or else from `owner`. Returns why it
    /// failed.
    [[nodiscard]] std::optional<std::string> read(protocol::PartRef const& part,
                                                  std::optional<bridge::OfferedPayload> const& own,
                                                  MemberId const& owner,
                                                  bridge::Connection::Sink const& sink,
                                                  CallLimits const& call);
    [[nodiscard]] bool is_own(protocol::PartRef const& part) const;
    /// Changes what has been read.
    void count(std::function<void(runlog::PayloadsRead&)> const& change);

    std::shared_ptr<bridge::Bridges> bridges_;
    Millis timeout_;
    mutable std::mutex mutex_;
    SiteId own_site_;
    std::optional<runlog::PayloadsRead> read_;
};

}  // namespace curtail::trainer
