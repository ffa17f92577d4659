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
    Digest lines;                      ///< of all lines that the reader has
    bool lacks_lines{false};           ///< the reader knows that lines are missing
    std::optional<TimeScale> clock{};  ///< the clock of a replay
};
/// Returns the digest of a log with the lines `text`. Returns an empty optional if there are no
/// lines, and none are known to be missing.
[[nodiscard]] std::optional<LogDigest> log_digest(SiteId const& site, Stream stream,
                                                  std::string_view text, bool lacks_lines,
                                                  std::optional<TimeScale> const& clock);

/// What a run's bill is computed from.
struct RunEvidence {
    RunId run;
    std::optional<protocol::CommitRef> commit{};  ///< the newest; empty: there is none
    std::vector<LogDigest> logs{};                ///< in any order
};

/// Returns the SHA-256 of the canonical JSON of `evidence` (docs/formats-journal.md). The commit
/// names the one before it, so the digest stands for all of them. It does not depend on the pieces
/// in which the lines are published.
[[nodiscard]] Digest run_digest(RunEvidence evidence);

}  // namespace curtail::journal
