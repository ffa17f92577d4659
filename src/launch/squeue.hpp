// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "launch/job_spec.hpp"

namespace curtail::launch {

/// The value of `squeue --Format`: every field has a suffix instead of a width, which squeue prints
/// without truncation (Slurm 20.11 and newer).
extern char const* const squeue_format;

/// Parses the output of squeue with squeue_format, with SLURM_TIME_FORMAT=%s, oldest job first.
/// Omits jobs whose comment names another run, site or folder, and text of another form. `data` if
/// the text does not end with the end of a job.
[[nodiscard]] Result<std::vector<plan::Job>> parse_squeue(JobSpec const& spec,
                                                          std::string_view text);
/// The exit code of a wait status as squeue prints it: `0`, `256` (exit code 1), `9` (signal 9).
[[nodiscard]] int exit_code_of(int wait_status);

}  // namespace curtail::launch
