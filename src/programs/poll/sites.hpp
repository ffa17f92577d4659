// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "programs/frame/program.hpp"
#include "run/config/run.hpp"

namespace curtail::programs {

/// Returns the sites of `run` that have one of the names in `names`, each site once. Returns all
/// sites if `names` is empty. Fails with `usage` if a name is unknown. The pointers refer to
/// elements of run.sites.
[[nodiscard]] Result<std::vector<config::Site const*>> choose_sites(
    config::Run const& run, std::vector<std::string> const& names);

/// Returns the site that is called `name`. If there is none, compares again without regard to case,
/// because the name may be Slurm's name of a cluster, which is in lower case. Fails with `usage` if
/// this finds no site either.
[[nodiscard]] Result<config::Site const*> find_site_of_job(config::Run const& run,
                                                           std::string const& name);

/// A job that asks whether and how it may start.
struct JobQuestion {
    std::string site;            ///< name of the job's site or cluster
    std::string intent;          ///< of a job that the poller submitted; empty otherwise
    bool without_poller{false};  ///< train even if the poller does not permit it
};
/// Prints a line for job scripts: the name of one site, the number of the site's ranks, and the
/// job's permission::Requirement, with a space between them. Finds the site as find_site_of_job()
/// does. Fails with `temporary` if the job may not train now (permission::check_start()).
[[nodiscard]] Result<void> print_job_line(config::Run const& run, JobQuestion const& question,
                                          Console const& console);

}  // namespace curtail::programs
