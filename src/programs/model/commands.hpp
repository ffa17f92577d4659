// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "programs/frame/cache.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "run/config/run.hpp"
#include "trainer/evaluate/committed_model.hpp"

namespace curtail::programs::model {

[[nodiscard]] Command evaluate_command();
[[nodiscard]] Command sample_command();
[[nodiscard]] Command inspect_command();

/// Runs `evaluate --follow`.
[[nodiscard]] Result<void> follow(Arguments const& arguments, Console const& console);
/// Returns the options `--follow`, `--site` and `--every`.
[[nodiscard]] std::vector<Option> follow_options();

/// Returns the option `--commit N`, for commands that load a model from a run's store.
[[nodiscard]] Option commit_option();

/// Returns the option `--threads N`, for commands that compute. More than one thread helps only
/// with large models on an idle machine.
[[nodiscard]] Option threads_option();
/// Sets the number of threads of LibTorch to the value of `--threads`.
void set_threads(Arguments const& arguments);

/// A run and the model of one of its commits.
struct Opened {
    config::Run run;
    evaluate::CommittedModel model;
};
/// Reads the run file `file`, and loads the model of one commit of the run. The option `--commit`
/// gives the number of the commit; the default is the newest commit. `--cache` names the folder for
/// copies of commits.
[[nodiscard]] Result<Opened> open_model(std::string const& file, Arguments const& arguments,
                                        Log const& log);
/// Does the same as open_model(). Also fails with `config` if the run's data folder does not
/// contain the data that the model was trained on.
[[nodiscard]] Result<Opened> open_model_and_data(std::string const& file,
                                                 Arguments const& arguments, Log const& log);

}  // namespace curtail::programs::model
