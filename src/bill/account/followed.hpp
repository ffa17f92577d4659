// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/config/run.hpp"
#include "run/runlog/held_out.hpp"

// The held-out losses that `curtail-model evaluate --follow` has published, and when to warn about
// them. The functions do no I/O and read no clock.
namespace curtail::account {

/// What a site's journal says about one model.
struct FollowedModel {
    SiteId site;
    runlog::HeldOutLine line;
    friend bool operator==(FollowedModel const&, FollowedModel const&) = default;
};

/// Returns one entry per model, in order of their commits. Of several lines of a site about a
/// commit, the last one counts: the earlier ones may be of an earlier run of the same name. Only an
/// evaluation stays when a line without one about the same model follows. Of several sites, one
/// with an evaluation goes before one without, and then an earlier site before a later one.
/// Leaves out lines about commits after `newest`: they are of another run of the same name, or the
/// reader does not know these commits yet.
[[nodiscard]] std::vector<FollowedModel> followed_models(
    std::vector<std::pair<SiteId, std::vector<runlog::HeldOutLine>>> const& sites,
    CommitNumber newest);

/// The newest held-out loss of a run.
struct FollowedState {
    FollowedModel newest;                 ///< the newest model that was evaluated
    std::optional<FollowedModel> lowest;  ///< that with the lowest loss before it, on the same data
    std::int64_t behind_models{};         ///< how many models are newer than `newest`
    std::int64_t behind_commits{};        ///< how many commits are newer than that of `newest`
    std::int64_t missing_models{};        ///< how many models were deleted or damaged
    friend bool operator==(FollowedState const&, FollowedState const&) = default;

    /// Returns by how much the loss of `newest` is above that of `lowest`, in nats per token.
    [[nodiscard]] std::optional<double> rise() const;
};

/// Returns the state of a run whose newest commit is `newest`, in round `round`. `models` are those
/// of followed_models(). Returns an empty optional if no model was evaluated.
[[nodiscard]] std::optional<FollowedState> followed_state(std::vector<FollowedModel> const& models,
                                                          CommitNumber newest, Round round);

/// Returns what a person should look at, as sentences without a full stop. The loss may not be
/// finite, or it has risen by more than the bound. Or the evaluations are behind by more than the
/// bound.
[[nodiscard]] std::vector<std::string> followed_warnings(FollowedState const& state,
                                                         config::HeldOutBounds const& bounds);

}  // namespace curtail::account
