// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/program.hpp"
#include "config/run.hpp"

namespace curtail::apps {

/// The named sites of a run, each once; all sites if `names` is empty. `usage` for an unknown name.
[[nodiscard]] Result<std::vector<config::Site const*>> choose_sites(
    config::Run const& run, std::vector<std::string> const& names);

/// Prints `SITE RANKS` for job scripts. Prefers the exact name and otherwise ignores case, because
/// Slurm writes cluster names in lower case. `usage` for an unknown name.
[[nodiscard]] Result<void> print_job_line(config::Run const& run, std::string const& name,
                                          Console const& console);

}  // namespace curtail::apps
