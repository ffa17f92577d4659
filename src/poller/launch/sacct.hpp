// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "poller/plan/job.hpp"

namespace curtail::launch {

/// The argument of `sacct --format`.
extern char const* const sacct_format;

/// Finds a job in the output of sacct. sacct must have run with sacct_format, `--noheader`,
/// `--parsable2` and SLURM_TIME_FORMAT=%s. Returns the job if it has the id `id` and the name
/// `name`, and has ended. Otherwise returns an empty optional.
[[nodiscard]] std::optional<plan::Job> find_in_sacct(std::string_view text, plan::JobId const& id,
                                                     std::string_view name);

}  // namespace curtail::launch
