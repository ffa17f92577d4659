// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "protocol/chain/kept_payloads.hpp"
#include "protocol/chain/merger.hpp"
#include "trainer/rounds/payload_transport.hpp"

namespace curtail::train {

/// A payload that the store has.
struct StoredPayload {
    rounds::PartRef part;
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
    [[nodiscard]] Result<rounds::Input> merge(rounds::Merge const& question, Byproducts& byproducts,
                                              Call const& call) const;
    /// Returns Restored. `kept` has this machine's copies; null: there are none. Appends a text to
    /// `warnings` for each input of a merge that it cannot use, and for each object that this site
    /// must not write.
    [[nodiscard]] Result<rounds::Input> restore(rounds::Restore const& question,
                                                maintain::KeptPayloads* kept,
                                                std::vector<std::string>& warnings,
                                                Call const& call) const;

  private:
    /// Returns those of `parts` that the store lacks, or has with other bytes.
    [[nodiscard]] Result<std::vector<rounds::PartRef>> damaged_of(
        std::vector<rounds::PartRef> const& parts, Call const& call) const;
    /// The results of a merge. `momentum` is empty values if there is none.
    struct Computed {
        Values weights;
        Values momentum;
    };
    /// Computes a merge. Sets `warnings` to one text for each contribution that it refuses.
    [[nodiscard]] tl::expected<Computed, chain::Merger::Obstacle> compute(
        rounds::Merge const& question, std::vector<std::string>& warnings, Call const& call) const;
    /// Stores the copy of `part` again. Returns false if there is no undamaged copy.
    [[nodiscard]] Result<bool> put_kept(rounds::PartRef const& part, maintain::KeptPayloads* kept,
                                        Call const& call) const;
    /// Stores the result of a merge again, if it is the payload that `part` describes.
    [[nodiscard]] Result<bool> put_computed(rounds::PartRef const& part,
                                            rounds::Merge const& recipe, Computed const& computed,
                                            Call const& call) const;

    PayloadTransport transport_;
};

}  // namespace curtail::train
