// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rounds/record.hpp"

namespace curtail::chain {

/// Size and digest of a payload object in the store.
struct PayloadFacts {
    std::int64_t bytes{};
    Digest sha256;
};

/// Source of the objects that a verifier reads; names are relative to the run. An empty optional
/// means that the object does not exist.
struct VerifySource {
    std::function<Result<std::optional<std::string>>(std::string const& name)> record;
    std::function<Result<std::optional<PayloadFacts>>(std::string const& name)> payload;
};

/// Figures of a whole chain.
struct ChainSummary {
    struct SiteShare {
        std::int64_t tokens{};
        std::int64_t contributions{};  ///< included ones with work
        std::int64_t refused{};
        friend bool operator==(SiteShare const&, SiteShare const&) = default;
    };
    rounds::RunSpec run;
    rounds::Commit tip;
    std::int64_t commits{};  ///< records, including the genesis
    std::int64_t merges{};
    std::int64_t rosters{};
    std::int64_t lone{};      ///< merges by a lone member of its own weights
    std::int64_t averaged{};  ///< merges of contributions from two or more sites
    std::int64_t members{};   ///< ever admitted
    std::int64_t refused{};   ///< contributions
    std::map<SiteId, SiteShare> sites;
    std::int64_t payloads{};  ///< objects whose size and digest are correct
    std::int64_t headers{};
};

/// Recomputes a run from the bytes in its store:
/// - run.json and every commit by digest, each commit against its parent;
/// - the exactly-once ledger, and tokens as the sum of contributions;
/// - each header that a commit names; an included one against the decision and the refusal rules;
/// - each payload that the model contains and the run still keeps.
/// A correctly refused contribution is valid. The first fault is the error, code `protocol` with
/// the object's name; read errors pass through.
[[nodiscard]] Result<ChainSummary> verify(VerifySource const& source);

/// Reads every commit in order and checks each against its parent. Code `protocol` if the chain is
/// broken.
[[nodiscard]] Result<std::vector<rounds::Commit>> read_chain(VerifySource const& source);

}  // namespace curtail::chain
