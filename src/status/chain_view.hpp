// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rounds/record.hpp"
#include "store/object_store.hpp"

namespace curtail::status {

/// A row of the member table and the contributions that wait for a decision.
struct MemberView {
    rounds::Member row;
    std::vector<rounds::Header> pending;
};

/// The newest state of a run and what is on its way.
struct ChainView {
    rounds::RunSpec run;
    rounds::Commit tip;
    Time round_began;  ///< time of the merge commit (or genesis) that made the current model
    std::vector<MemberView> members;
    std::optional<rounds::Lease> lease;  ///< the newest one to merge on top of this round
    std::vector<std::string>
        notes{};  ///< headers and leases that cannot be read: nothing depends on them
};

/// Reads run.json, the newest commit and what hangs on it; the chain below is not checked
/// (verify_run does). Nothing: the run has not begun in this store. `protocol` if run.json or a
/// commit is damaged.
[[nodiscard]] Result<std::optional<ChainView>> read_chain_view(store::ObjectStore& objects,
                                                               RunId const& run);

/// Who is waiting for what, as far as the records show it.
struct Waiting {
    std::string who;  ///< a member, or `run`
    std::string what;
    friend bool operator==(Waiting const&, Waiting const&) = default;
};
/// Pure; `now` is a reading of a clock that agrees with the store's to a few seconds.
[[nodiscard]] std::vector<Waiting> who_waits(ChainView const& view, Time now);

}  // namespace curtail::status
