// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "poller/plan/job.hpp"

namespace curtail::launch {

/// Sets the state of `job`, and how it ended, from Slurm's name of the state, such as `NODE_FAIL`.
/// A job in an unknown state counts as running: the poller must neither start a second one nor
/// leave it running when the window closes. In that case, also sets a warning.
void set_state(plan::Job& job, std::string_view name);
/// Returns whether `text` can be the name of a state: it consists of capital letters and
/// underscores, and is not a known name that was cut short.
[[nodiscard]] bool is_state(std::string_view text);
/// Returns whether `text` can be the number of a job: an integer above 0.
[[nodiscard]] bool is_job_number(std::string_view text);
/// Returns whether `text` is a time for parse_seconds(), or what Slurm's commands print where they
/// have none.
[[nodiscard]] bool is_time(std::string_view text);
/// Parses seconds since 1970. Returns an empty optional for all other text. A time before
/// 2001-09-09 is the beginning of a longer number.
[[nodiscard]] std::optional<Time> parse_seconds(std::string_view text);
/// Corrects an ended job that left the queue without a start. Slurm shows such a job as if it had
/// started at its end. If the job missed its deadline, also removes its exit code: Slurm shows 1,
/// although no process ended.
void correct_unstarted(plan::Job& job);

}  // namespace curtail::launch
