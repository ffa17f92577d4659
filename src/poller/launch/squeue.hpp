// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "poller/launch/job_spec.hpp"
#include "poller/launch/marked_output.hpp"

namespace curtail::launch {

/// Returns the argument of `squeue --Format`. Every field has a suffix instead of a width, so
/// squeue does not truncate the field.
[[nodiscard]] std::string squeue_format(Marks const& marks);

/// Parses the output of squeue, and returns the jobs, the oldest first. squeue must have run with
/// squeue_format(), with its header, and with SLURM_TIME_FORMAT=%s. A job whose comment is
/// not that of this run, site and folder has no intent. Fails with `data` if a record is not a job,
/// or is incomplete, if a comment like ours is damaged, and if the header is missing: it shows that
/// squeue itself has answered this call.
[[nodiscard]] Result<std::vector<plan::Job>> parse_squeue(JobSpec const& spec,
                                                          std::string_view text,
                                                          Marks const& marks);
/// squeue prints a wait status instead of an exit code. This function converts it: 0 gives 0, 256
/// gives 1, and 9 (signal 9) gives 137.
[[nodiscard]] int exit_code_of(int wait_status);

}  // namespace curtail::launch
