// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/program.hpp"
#include "config/run.hpp"

namespace curtail::apps {

/// Returns the sites of `run` that have one of the names in `names`, each site once. Returns all
/// sites if `names` is empty. Fails with `usage` if a name is unknown. The pointers refer to
/// elements of run.sites.
[[nodiscard]] Result<std::vector<config::Site const*>> choose_sites(
    config::Run const& run, std::vector<std::string> const& names);

/// Prints a line for job scripts: the name of one site, a space, and the number of the site's
/// ranks. Chooses the site that is called `name`. If there is none, compares again without regard
/// to case, because `name` may be Slurm's name of a cluster, which is in lower case. Fails with
/// `usage` if this finds no site either.
[[nodiscard]] Result<void> print_job_line(config::Run const& run, std::string const& name,
                                          Console const& console);

}  // namespace curtail::apps
