// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rounds/record.hpp"

namespace curtail::rounds {

/// Size and digest of a payload object as it is in the store.
struct PayloadFacts {
    std::int64_t bytes{};
    Digest sha256;
};

/// Where a verifier gets its objects; names are relative to the run. Nothing: there is no such
/// object.
struct VerifySource {
    std::function<Result<std::optional<std::string>>(std::string const& name)> record;
    std::function<Result<std::optional<PayloadFacts>>(std::string const& name)> payload;
};

/// What a whole chain says.
struct ChainSummary {
    struct SiteShare {
        std::int64_t tokens{};
        std::int64_t contributions{};  ///< included, with work in them
        std::int64_t refused{};
        friend bool operator==(SiteShare const&, SiteShare const&) = default;
    };
    RunSpec run;
    Commit tip;
    std::int64_t commits{};  ///< records, genesis too
    std::int64_t merges{};
    std::int64_t rosters{};
    std::int64_t lone{};      ///< merges by a lone member of its own weights
    std::int64_t averaged{};  ///< merges of contributions of at least two sites
    std::int64_t members{};   ///< admitted ever
    std::int64_t refused{};   ///< contributions
    std::map<SiteId, SiteShare> sites;
    std::int64_t payloads{};  ///< read and found right
    std::int64_t headers{};
};

/// Recomputes a run from what is in the store: run.json and every commit by its digests, each
/// against its parent, exactly-once ledger, tokens as the sum of contributions, each header that a
/// commit names (an included one against what was decided and the rules of refusal), each payload
/// that the chain names for what is in the model and still keeps. What was refused correctly is no
/// fault. The first thing that is wrong is the error, code `protocol` with the object's name.
[[nodiscard]] Result<ChainSummary> verify(VerifySource const& source);

/// Every commit in order, each checked against its parent; for reports. Code `protocol` if the
/// chain is broken.
[[nodiscard]] Result<std::vector<Commit>> read_chain(VerifySource const& source);

}  // namespace curtail::rounds
