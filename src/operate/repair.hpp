// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "protocol/chain/kept_payloads.hpp"
#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// A payload of the newest model or momentum, and what a repair did about it.
struct RepairedPart {
    /// - `intact`: nothing was wrong;
    /// - `copied`: stored again from the site's copy;
    /// - `recomputed`: stored again from the inputs of its merge;
    /// - `lost`: still damaged;
    /// - `unread`: the store did not let the command read it.
    enum class Outcome { intact, copied, recomputed, lost, unread };
    protocol::PartRef part;
    Outcome outcome{Outcome::intact};
};

/// Returns the outcome as a word, for scripts.
[[nodiscard]] std::string_view to_word(RepairedPart::Outcome outcome);

struct RepairResult {
    CommitNumber commit;  ///< newest commit
    std::vector<RepairedPart> parts;
    /// The first error of the store about a part. The other parts were repaired nevertheless.
    std::optional<Error> error{};
};

/// Reads the newest model and momentum of a run. Stores those payloads again that are damaged or
/// missing: from the copies in `kept`, or by computing the merge once more. Stores only bytes with
/// the digest in the newest commit, so members may train meanwhile. `elements` is the number of
/// values of the model; empty: nothing is computed.
///
/// Fails with `no_input` if the store has no such run. Returns errors of the store about the run's
/// records unchanged; an error about a part becomes RepairResult::error.
[[nodiscard]] Result<RepairResult> repair(chain::RunObjects const& objects,
                                          chain::KeptPayloads& kept,
                                          std::optional<std::int64_t> elements);

}  // namespace curtail::operate
