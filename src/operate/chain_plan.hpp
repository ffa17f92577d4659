// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "operate/stored_commits.hpp"
#include "protocol/records/ranges.hpp"

namespace curtail::operate {

/// What is wrong with a chain, and what a repair will do about it. No number is in two of the sets.
struct ChainPlan {
    std::map<CommitNumber, std::string> restored{};  ///< lost or damaged commits with a copy
    protocol::Ranges replaced{};  ///< those of `restored` whose damaged object is in the way
    protocol::Ranges lost{};      ///< missing commits without a copy
    protocol::Ranges damaged{};   ///< damaged commits without a copy; they stay
    protocol::Ranges foreign{};   ///< objects after the chain that are no commits of this run
    CommitNumber newest{};        ///< newest undamaged commit in the store; a fork may name it
    std::map<CommitNumber, Digest> seen{};  ///< digests of the replaced and foreign objects
    /// Why nobody may repair this chain here: the store has another history than the copies, or a
    /// record of another format. Then nothing else in the plan counts but `newest`.
    std::optional<Error> refusal{};
    friend bool operator==(ChainPlan const&, ChainPlan const&) = default;
};

/// Compares all commits in the store with each other, with the site's copies, and with the statuses
/// of the sites. Changes nothing. If something is wrong, looks again after `pause` until two looks
/// agree, because sites may train and repair meanwhile.
///
/// Only what is proven counts as foreign: a commit of another run, or an object that no copy and no
/// status knows of, while the copies reach to the end of the chain. Anything else may be a commit
/// that another site has made, and is lost or damaged.
///
/// Fails with `no_input` if the store has no such run, and with `protocol` if run.json is missing
/// or damaged. Returns errors of the store unchanged.
[[nodiscard]] Result<ChainPlan> plan_chain_repair(chain::RunObjects const& objects,
                                                  chain::RecordCache& copies,
                                                  Millis pause = Millis{100});

}  // namespace curtail::operate
