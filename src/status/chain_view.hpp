// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "chain/run_objects.hpp"

namespace curtail::status {

/// A row of the member table and the member's contributions that no commit has decided yet.
struct MemberView {
    rounds::Member row;
    std::vector<rounds::Header> pending;
};

/// The newest state of a run and the contributions on their way into it.
struct ChainView {
    rounds::RunSpec run;
    rounds::Commit tip;
    Time round_began;  ///< time of the commit that made the current model
    std::vector<MemberView> members;
    std::optional<rounds::Lease> lease;  ///< the newest lease to merge in this round
    std::vector<std::string> notes{};    ///< damaged headers and leases; nothing depends on them
};

/// Reads run.json, the newest commit and the records that no commit refers to yet. It does not
/// check the chain below the newest commit (chain::verify does). Empty: the run has not started in
/// this store. `protocol` if run.json or a commit is damaged.
[[nodiscard]] Result<std::optional<ChainView>> read_chain_view(chain::RunObjects const& objects);

/// What a member, or the run as a whole, is doing or waiting for.
struct Activity {
    std::string subject;  ///< a member id, or `run`
    std::string text;     ///< a predicate: `is training; ...`
    friend bool operator==(Activity const&, Activity const&) = default;
};
/// As far as the records show it. Pure. `now` comes from a clock that agrees with the store's to a
/// few seconds.
[[nodiscard]] std::vector<Activity> activities(ChainView const& view, Time now);

}  // namespace curtail::status
