// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "protocol/chain/kept_payloads.hpp"
#include "protocol/chain/merger.hpp"
#include "trainer/rounds/payload_transport.hpp"

namespace curtail::trainer {

/// A payload that the store has.
struct StoredPayload {
    protocol::PartRef part;
    Values values;
};

/// Merges contributions, and stores damaged payloads again. Copies share the transport.
/// Thread-safe.
///
/// The functions return the store's error unchanged if it failed.
class MergeWork {
  public:
    explicit MergeWork(PayloadTransport transport) : transport_(std::move(transport)) {}

    /// Returns what does the same, but uses the direct way only until `time`.
    [[nodiscard]] MergeWork direct_until(MonoTime time) const
    {
        return MergeWork(transport_.direct_until(time));
    }

    struct Byproducts {
        std::vector<std::string> warnings;  ///< one for each contribution that merge() refuses
        std::vector<StoredPayload> stored;
    };
    /// Returns Merged or Corrupt, see chain::Merger::run().
    [[nodiscard]] Result<protocol::Input> merge(protocol::Merge const& question,
                                                Byproducts& byproducts,
                                                CallLimits const& call) const;
    /// Returns Restored. `kept` has this machine's copies; null: there are none. Appends a text to
    /// `warnings` for each input of a merge that it cannot use, and for each object that this site
    /// must not write.
    [[nodiscard]] Result<protocol::Input> restore(protocol::Restore const& question,
                                                  chain::KeptPayloads* kept,
                                                  std::vector<std::string>& warnings,
                                                  CallLimits const& call) const;

  private:
    /// Returns those of `parts` that the store lacks, or has with other bytes.
    [[nodiscard]] Result<std::vector<protocol::PartRef>> damaged_of(
        std::vector<protocol::PartRef> const& parts, CallLimits const& call) const;
    /// The results of a merge. `momentum` is null if the merge makes none.
    struct MergeResult {
        Values weights;
        Values momentum;
    };
    /// Computes a merge. Sets `warnings` to one text for each contribution that it refuses.
    [[nodiscard]] tl::expected<MergeResult, chain::Merger::Obstacle> compute(
        protocol::Merge const& question, std::vector<std::string>& warnings,
        CallLimits const& call) const;
    /// Stores the copy of `part` again, or what this process has made. Returns false if there is no
    /// undamaged copy.
    [[nodiscard]] Result<bool> put_kept(protocol::PartRef const& part, chain::KeptPayloads* kept,
                                        CallLimits const& call) const;
    /// Stores the result of a merge again, if it is the payload that `part` describes.
    [[nodiscard]] Result<bool> put_computed(protocol::PartRef const& part,
                                            protocol::Merge const& merge,
                                            MergeResult const& computed,
                                            CallLimits const& call) const;

    PayloadTransport transport_;
};

}  // namespace curtail::trainer
