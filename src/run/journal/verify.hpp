// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "protocol/chain/verify.hpp"
#include "run/journal/reader.hpp"
#include "run/journal/run_digest.hpp"

namespace curtail::journal {

/// What the journals of some sites contain.
struct JournalSummary {
    std::int64_t sites{};    ///< sites that have published something
    std::int64_t streams{};  ///< streams that have at least one piece
    std::int64_t pieces{};
    std::int64_t bytes{};           ///< of the pieces' contents
    std::int64_t fixed{};           ///< those of `bytes` that the chain of commits fixes
    std::vector<LogDigest> logs{};  ///< one per stream with lines
};

/// Reads every piece of the sites' journals and checks that it is whole and follows from the one
/// before it. Fails with `protocol` at the first stream with a fault; the message names the piece.
/// Returns the errors of `reader` unchanged.
[[nodiscard]] Result<JournalSummary> verify_journals(Reader const& reader,
                                                     std::vector<SiteId> const& sites);

/// A verified journal, and the digest of the run.
struct VerifiedJournal {
    JournalSummary summary;
    std::int64_t closings{};  ///< sites whose journal is closed
    Digest run_digest;        ///< as run_digest() returns it
};
/// Does the same for the sites of a verified chain. Also checks that the journals have the pieces
/// that commits and closings name, and that the chain has the commits that closings name.
[[nodiscard]] Result<VerifiedJournal> verify_journals(
    std::shared_ptr<store::ObjectStore> const& store, chain::ChainSummary const& chain);

}  // namespace curtail::journal
