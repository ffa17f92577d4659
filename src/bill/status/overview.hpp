// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "bill/account/progress.hpp"
#include "bill/status/chain_view.hpp"
#include "bill/status/energy_view.hpp"
#include "bill/status/held_out.hpp"
#include "bill/status/site_view.hpp"
#include "bill/status/work_view.hpp"

namespace curtail::status {

/// The state of a run, as curtail-status shows it.
struct Overview {
    RunId run;
    std::string store;  ///< address of the store
    Time now;           ///< real time at which curtail-status began to read
    /// Empty if the run has not started or its store cannot be read.
    std::optional<ChainView> chain{};
    SitesView sites{};
    std::optional<Error> store_error{};  ///< why the store cannot be read; empty if it can be read
    std::optional<account::Speed> speed{};  ///< of the run; empty if unknown
    std::optional<EnergyView> energy{};     ///< empty if unknown; its sites are those of `sites`
    std::optional<HeldOutView> held_out{};  ///< empty if no followed model was evaluated
    std::optional<WorkView> work{};         ///< empty if there is no commit, or one is missing
};

/// Reads the state of a run from its store and its folder. `store` is the result of open_store().
/// If `store` is an error, or read_chain_view() fails, that error becomes Overview::store_error,
/// and the logs are those of this machine.
[[nodiscard]] Overview read_overview(config::Run const& run,
                                     Result<std::shared_ptr<store::ObjectStore>> const& store,
                                     Time now, chain::CacheSettings const& cache = {});

/// How many of the run's blocks are done, held and free in its newest commit.
struct BlockCounts {
    std::int64_t blocks;  ///< all blocks of the run, over all epochs
    std::int64_t done;    ///< blocks that the committed model includes
    std::int64_t held;    ///< blocks that members hold
    [[nodiscard]] std::int64_t free() const { return blocks - done - held; }
    [[nodiscard]] double percent() const  ///< `done` in percent of `blocks`
    {
        return blocks > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(blocks) : 0;
    }
};
/// Counts the blocks in the newest commit.
[[nodiscard]] inline BlockCounts progress_of(ChainView const& chain)
{
    BlockCounts p{chain.run.stream_blocks(), chain.tip.done.count(), 0};
    for (auto const& member : chain.tip.members) p.held += member.held.count();
    return p;
}

/// Returns the run's progress in tokens. The speed may be empty.
[[nodiscard]] inline account::TokenProgress token_progress(
    ChainView const& chain, std::optional<account::Speed> const& speed)
{
    return {chain.run.stream_blocks() * chain.run.params.block_tokens, chain.tip.totals.tokens,
            speed};
}

/// Returns the member's training speed in blocks per real second. Returns an empty optional if
/// `member.rate` is 0, i.e. unknown.
[[nodiscard]] inline std::optional<double> blocks_per_second(protocol::Member const& member)
{
    return member.rate == 0 ? std::nullopt : std::optional(static_cast<double>(member.rate) * 1e-6);
}

}  // namespace curtail::status
