// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "protocol/records/record.hpp"
#include "run/runlog/held_out.hpp"

// The decisions of a process that evaluates each new model of a run. The functions do no I/O and
// read no clock.
namespace curtail::follow {

/// Returns whether a commit made a model: the first commit did, and each merge. Other commits name
/// the model of their parent.
[[nodiscard]] bool makes_model(protocol::Commit const& commit);

/// Returns the digest by which lines name the model of a commit: that of its first part.
[[nodiscard]] Digest model_of(protocol::Commit const& commit);

/// Returns the models that have no line yet, in order. `models` are the commits of the run that
/// made a model, in order. `lines` are those that are already written. A line is of an earlier run
/// of the same name if its commit is not in `models` or has another model. Such a line does not
/// count.
///
/// Without a line, the first model is that of `oldest_kept`, the oldest round that the run keeps.
/// After a line, every later model follows, even if the run has deleted it.
[[nodiscard]] std::span<protocol::Commit const> pending_models(
    std::span<protocol::Commit const> models, std::span<runlog::HeldOutLine const> lines,
    Round oldest_kept);

/// A model that is missing or damaged in the store.
struct LostModel {
    bool is_kept{};        ///< whether the run keeps its round
    bool is_newest{};      ///< whether it is the newest model of a run that goes on
    Millis lost_for{0};    ///< time since the model was first found lost
    Millis repair_wait{};  ///< of the run's parameters
};
/// Returns whether the model stays lost. As long as the run goes on, its sites repair the newest
/// model. Any other model that the run keeps is read again for `repair_wait`.
[[nodiscard]] bool stays_lost(LostModel const& model);

/// Returns whether a failure with this code may pass without a person, as an outage of a store
/// does.
[[nodiscard]] bool may_pass(ExitCode code);

}  // namespace curtail::follow
