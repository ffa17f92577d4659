// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "run/config/run.hpp"

namespace curtail::programs {

/// Checks that nobody else can change what the poller and the jobs of `sites` read, run or follow:
/// what config::check_access() checks, job scripts, prologues, Slurm's settings and commands, and
/// the programs in `build`/bin.
///
/// Returns an empty text, or a warning about a folder above one of these. Fails with `permission`.
[[nodiscard]] Result<std::string> check_trusted_files(config::Run const& run,
                                                      std::vector<config::Site const*> const& sites,
                                                      std::filesystem::path const& build);

}  // namespace curtail::programs
