// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "protocol/chain/run_objects.hpp"

namespace curtail::status {

/// A member in the newest commit, and the headers of the member's pending contributions.
struct MemberView {
    protocol::Member row;
    std::vector<protocol::Header> pending;  ///< in order of `seq`
};

/// The newest state of a run, read from its store.
struct ChainView {
    protocol::RunSpec run;
    protocol::Commit tip;  ///< the newest commit
    /// When the round of `tip` began, by the store's clock. This is the time of the commit that
    /// made the model of `tip`. If the store lacks this commit, the value is the time of `tip`.
    Time round_began{};
    std::vector<MemberView> members{};       ///< in the order of `tip.members`
    std::optional<protocol::Lease> lease{};  ///< newest readable lease for the merge that ends
                                             ///< the round of `tip`; empty if there is none
    std::vector<std::string> notes{};  ///< about damaged headers and leases, and a missing model
};

/// Reads run.json, the newest commit, the headers of pending contributions, and the leases of the
/// newest commit's round. Looks whether the store has the newest model and its momentum. Does not
/// check the newest commit against earlier ones; chain::verify_run() does. Returns an empty
/// optional if the run has not started. Fails with `protocol` if run.json is damaged. Fails with
/// `protocol` if a commit that is read is damaged: the commit of `round_began`, or one that
/// chain::newest_commit() reads.
[[nodiscard]] Result<std::optional<ChainView>> read_chain_view(chain::RunObjects const& objects);

/// One line for the user: what a member or the run is doing or waiting for.
struct Activity {
    std::string subject;  ///< a member id, or `run`
    std::string text;     ///< the rest of the sentence about `subject`: `is training; ...`
    friend bool operator==(Activity const&, Activity const&) = default;
};
/// Says what the run and its members seem to be doing, as far as the records show. `now` must be
/// within a few seconds of the store's clock.
[[nodiscard]] std::vector<Activity> activities(ChainView const& view, Time now);

}  // namespace curtail::status
