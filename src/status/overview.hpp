// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "status/chain_view.hpp"
#include "status/site_view.hpp"

namespace curtail::status {

/// The state of a run at the time `now`.
struct Overview {
    RunId run;
    std::string store;
    Time now;
    std::optional<ChainView> chain;  ///< empty: the run has not started
    SitesView sites;
};

/// The run's blocks at its newest commit.
struct Progress {
    std::int64_t blocks;  ///< of the whole stream
    std::int64_t done;    ///< in the model
    std::int64_t held;    ///< granted to members
    [[nodiscard]] std::int64_t free() const { return blocks - done - held; }
    [[nodiscard]] double percent() const
    {
        return blocks > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(blocks) : 0;
    }
};
[[nodiscard]] inline Progress progress_of(ChainView const& chain)
{
    Progress p{chain.run.stream_blocks(), chain.tip.done.count(), 0};
    for (auto const& member : chain.tip.members) p.held += member.held.count();
    return p;
}

/// Empty: the member has not trained long enough to know (0 in the record).
[[nodiscard]] inline std::optional<double> blocks_per_second(rounds::Member const& member)
{
    return member.rate == 0 ? std::nullopt : std::optional(static_cast<double>(member.rate) * 1e-6);
}

}  // namespace curtail::status
