// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "poller/launch/job_spec.hpp"

namespace curtail::launch {

/// The argument of `squeue --Format`. Every field has a suffix instead of a width, so squeue does
/// not truncate the field.
extern char const* const squeue_format;

/// Parses the output of squeue, and returns the jobs, the oldest first. squeue must have run with
/// squeue_format and SLURM_TIME_FORMAT=%s. Omits jobs whose comment names another run, site or
/// folder. Also omits text that is not a job. Fails with `data` if the last job in `text` is
/// incomplete.
[[nodiscard]] Result<std::vector<plan::Job>> parse_squeue(JobSpec const& spec,
                                                          std::string_view text);
/// squeue prints a wait status instead of an exit code. This function converts it: 0 gives 0, 256
/// gives 1, and 9 (signal 9) gives 137.
[[nodiscard]] int exit_code_of(int wait_status);

}  // namespace curtail::launch
