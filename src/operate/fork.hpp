// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "operate/copy.hpp"

// Starts a run from the model of another run's commit.
namespace curtail::operate {

struct ForkOptions {
    /// Commit to continue from. Empty: the newest one of a sound chain.
    std::optional<CommitNumber> number{};
    bool reset_momentum{false};  ///< begin without the momentum of the outer optimizer
    /// Digest of the data's manifest.json, if the caller knows it. It must be that of the source.
    std::optional<Digest> manifest{};
};

/// What a fork has done.
struct ForkSummary {
    protocol::ForkRef origin;
    protocol::Commit first;  ///< commit 1 of the fork
    bool existed{false};     ///< the store had this fork already; nothing was written
    std::int64_t written{};  ///< objects that this call has written
    Bytes bytes;             ///< that this call has written
    std::int64_t found{};    ///< objects that an interrupted call had written, and that are right
    /// What is wrong with the chain of the source. It concerns other objects than the fork uses.
    std::optional<Error> fault{};
};

/// Starts the run `wanted` in the store `to`. It continues from a commit of the run `from`, which
/// may be complete and may be in the same store. The shape of the model and `block_tokens` must be
/// those of the source. The data and the parts of the model are taken from the source; all other
/// settings are those of `wanted`.
///
/// With ForkOptions::number, the source may lack other commits or have them damaged: the fork needs
/// only run.json, this commit, its weights and its momentum. Without it, the chain must be sound.
///
/// Copies the weights and momentum of the commit and compares their digests. Then writes commit 1,
/// and run.json last. Without run.json, no program takes what is in `to` for a run. So an
/// interrupted fork can be repeated with the same arguments; it writes only what is missing.
///
/// Fails with `no_input` if the source has no such commit, or no longer has its model. Fails with
/// `config` if `wanted` cannot continue from the commit. Fails with `protocol` if the source is
/// damaged, or if `to` has another run of this name: then it has written nothing, or only payloads.
/// Returns errors of the stores unchanged.
[[nodiscard]] Result<ForkSummary> fork_run(
    chain::RunObjects const& from, store::ObjectStore& to, protocol::RunSpec wanted,
    ForkOptions const& options = {}, std::function<void(CopyProgress const&)> const& progress = {});

}  // namespace curtail::operate
