// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/records/record.hpp"

namespace curtail::chain {

/// The size and digest of a payload object, computed from its stored bytes.
struct PayloadFacts {
    std::int64_t bytes{};
    Digest sha256;
};

/// Functions that read the objects to verify. Names are relative to the run's folder in the store.
/// Each function returns an empty optional if the object does not exist.
struct VerifySource {
    /// Returns the bytes of a record.
    std::function<Result<std::optional<std::string>>(std::string const& name)> record;
    /// Returns the size and digest of a payload.
    std::function<Result<std::optional<PayloadFacts>>(std::string const& name)> payload;
    /// Returns false if a listing lacks a payload. Asked only about payloads that the run need not
    /// keep, so that no request is spent on each of those that were deleted. Null: all may exist.
    std::function<bool(std::string const& name)> may_exist{};
};

/// run.json as it is stored.
struct StoredRun {
    protocol::RunSpec run;
    Digest sha256;        ///< of its bytes
    std::string bytes{};  ///< empty: not kept
};

/// A commit and the digest of its bytes.
struct LinkedCommit {
    protocol::Commit commit;
    Digest sha256;
};

/// The model of a merge commit, and whether it could be computed again from its inputs.
struct RecomputedModel {
    /// - `recomputed`: the result has the same bits;
    /// - `lone`: a lone site committed its own weights, so there is nothing to compute;
    /// - `inputs_deleted`: the run no longer keeps the result or an input;
    /// - `header_lost`: a header that names an input is lost;
    /// - `other_form`: a payload has not the form that this version of Curtail writes.
    enum class Outcome { recomputed, lone, inputs_deleted, header_lost, other_form };
    CommitNumber number;
    Round round;
    Outcome outcome{Outcome::recomputed};
    friend bool operator==(RecomputedModel const&, RecomputedModel const&) = default;
};

/// A header of a decided contribution that is missing or cannot be read. The chain does not need
/// it: the commit records the decision.
struct LostHeader {
    std::string name;
    std::string why;
};

/// What a verified chain contains.
struct ChainSummary {
    /// The contributions of all members of one site.
    struct SiteShare {
        Tokens tokens;                 ///< in included contributions
        std::int64_t contributions{};  ///< included contributions with at least one block
        std::int64_t refused{};        ///< refused contributions
        friend bool operator==(SiteShare const&, SiteShare const&) = default;
    };
    protocol::RunSpec run;    ///< with the terms that `tip` states
    protocol::Commit tip;     ///< the newest commit
    std::int64_t commits{};   ///< all commits, including the genesis
    std::int64_t merges{};    ///< merge commits
    std::int64_t rosters{};   ///< roster commits
    std::int64_t lone{};      ///< checkpoints: a lone member committed its own weights
    std::int64_t averaged{};  ///< merge commits that are joint: with work of two or more sites
    std::int64_t members{};   ///< members admitted in the whole run
    std::int64_t refused{};   ///< refused contributions
    std::map<SiteId, SiteShare> sites;
    std::int64_t payloads{};         ///< payload objects whose size and digest were verified
    std::int64_t headers{};          ///< headers whose digest was verified
    std::vector<LostHeader> lost{};  ///< in the order of the chain
    /// Commit::heads of each commit that changes them, in the order of the chain.
    std::vector<std::pair<CommitNumber, std::map<SiteId, protocol::JournalHeads>>> heads{};
    std::vector<Digest> digests{};          ///< of the bytes of each commit
    std::vector<RecomputedModel> models{};  ///< one per merge commit; empty: not recomputed
    /// How the chain contradicts what this machine has read from the store before, as a sentence
    /// for people. Empty: it does not.
    std::string warning{};
};

/// Reads run.json. Fails with `protocol` if it is missing or invalid.
[[nodiscard]] Result<StoredRun> read_run(VerifySource const& source);

/// Checks that each commit follows from its parent by the rules of the protocol, and the first one
/// from run.json. Fails with `protocol`.
[[nodiscard]] Result<void> check_commits(StoredRun const& run,
                                         std::vector<LinkedCommit> const& chain);

/// Verifies a run. `run` and `chain` are as the store has them; reads only headers and payloads.
/// Checks that:
/// - each commit follows from its parent by the rules of the protocol;
/// - no block is included twice, and the token total is the sum over included contributions;
/// - each header that a commit names has the digest that the commit records. A header that is
///   missing or cannot be read is lost (ChainSummary::lost), and no fault;
/// - the header of each included contribution announces the work that the commit records;
/// - protocol::refusal() finds no reason to refuse an included contribution;
/// - each payload of a model, of outer momentum or of an included delta has the size and digest
///   that its commit or header records. A payload may be missing if a commit's terms have
///   allowed the run to delete it (upkeep::KeptRounds).
///
/// Stops at the first fault: fails with `protocol`, and the message names the object. Fails so also
/// if the chain is empty. An error of `source` is returned unchanged. `progress` receives how many
/// commits have been verified.
[[nodiscard]] Result<ChainSummary> verify_chain(
    StoredRun const& run, std::vector<LinkedCommit> const& chain, VerifySource const& source,
    std::function<void(std::int64_t done)> const& progress = {});

}  // namespace curtail::chain
