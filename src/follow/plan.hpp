// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rounds/record.hpp"
#include "runlog/held_out.hpp"

// The decisions of a process that evaluates each new model of a run. The functions do no I/O and
// read no clock.
namespace curtail::follow {

/// Returns whether a commit made a model: the first commit did, and each merge. Other commits name
/// the model of their parent.
[[nodiscard]] bool makes_model(rounds::Commit const& commit);

/// Returns the digest by which lines name the model of a commit: that of its first part.
[[nodiscard]] Digest model_of(rounds::Commit const& commit);

/// Returns the models that have no line yet, in order. `models` are the commits of the run that
/// made a model, in order. `lines` are those that are already written; a line about a commit that
/// is not in `models`, or about another model of it, is of an earlier run of the same name and does
/// not count.
///
/// Without a line, the first model is the oldest that the run keeps: one of the newest
/// `keep_models` ones. After a line, every later model follows, even if the run has deleted it.
[[nodiscard]] std::span<rounds::Commit const> pending_models(
    std::span<rounds::Commit const> models, std::span<runlog::HeldOutLine const> lines,
    std::int64_t keep_models);

/// Returns whether a failure with this code may pass without a person, as an outage of a store
/// does.
[[nodiscard]] bool may_pass(ExitCode code);

}  // namespace curtail::follow
