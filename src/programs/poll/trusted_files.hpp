// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "run/config/run.hpp"

namespace curtail::programs {

/// Checks that nobody else can change what the poller and the jobs of `sites` read, run or follow:
/// what config::check_access() checks, job scripts, prologues, Slurm's settings, the programs in
/// `build`/bin, and the commands of pollers and jobs. Also checks the folders of the PATH that come
/// before that of a command: somebody could put the command there.
///
/// Returns an empty text, or a warning about a folder above one of these. Fails with `permission`.
[[nodiscard]] Result<std::string> check_trusted_files(config::Run const& run,
                                                      std::vector<config::Site const*> const& sites,
                                                      std::filesystem::path const& build);
/// Checks the same on a job's node: the environment of the job names its prologue
/// (CURTAIL_PROLOGUE) and perhaps its programs (CURTAIL_BUILD). Leaves out the commands that only
/// pollers run. Fails with `permission`.
[[nodiscard]] Result<void> check_files_in_job(config::Run const& run,
                                              std::vector<config::Site const*> const& sites,
                                              std::filesystem::path const& build);

}  // namespace curtail::programs
