// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/program.hpp"
#include "config/run.hpp"
#include "evaluate/committed_model.hpp"

namespace curtail::apps::model {

[[nodiscard]] Command evaluate_command();
[[nodiscard]] Command sample_command();
[[nodiscard]] Command inspect_command();

/// `--commit N`, shared by what loads a model from a run's store.
[[nodiscard]] Option commit_option();

/// `--threads N`, shared by what computes. More than one pays for large models on an idle machine
/// only.
[[nodiscard]] Option threads_option();
/// Lets LibTorch use so many threads as `--threads` says; `usage` if that is not positive.
[[nodiscard]] Result<void> set_threads(Arguments const& arguments);

/// A run's file and the model of one of its commits.
struct Opened {
    config::Run run;
    evaluate::CommittedModel model;
};
/// Reads the run's file `file` and the commit that `--commit` asks for, else the newest.
[[nodiscard]] Result<Opened> open_model(std::string const& file, Arguments const& arguments);

}  // namespace curtail::apps::model
