// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "protocol/records/record.hpp"
#include "run/journal/piece.hpp"

// One digest of everything from which a run's bill is computed.
namespace curtail::journal {

/// The log of one stream of a site, as a reader has it.
struct LogDigest {
    SiteId site;
    Stream stream{Stream::poller};
    /// The newest piece in the store that counts; empty: there is none.
    std::optional<protocol::JournalHead> head{};
    std::optional<Digest> local{};  ///< of the lines that only this machine has; empty: none
};

/// What a run's bill is computed from.
struct RunEvidence {
    RunId run;
    std::optional<protocol::CommitRef> commit{};  ///< the newest; empty: there is none
    std::optional<TimeScale> clock{};             ///< the clock of a replay
    std::vector<LogDigest> logs{};  ///< in any order; those without lines do not count
};

/// Returns the SHA-256 of the canonical JSON of `evidence` (docs/formats-journal.md). The commit
/// names the one before it, and a piece the one before it, so the digest stands for all of them.
[[nodiscard]] Digest run_digest(RunEvidence evidence);

}  // namespace curtail::journal
