// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/sacct.hpp"

#include "base/core/text.hpp"
#include "poller/launch/slurm_states.hpp"

namespace curtail::launch {
namespace {

// Parses `3:0`, an exit code and the signal that ended the job.
std::optional<int> parse_exit_code(std::string_view text)
{
    auto const parts = split(text, ':');
    if (parts.size() != 2) return std::nullopt;
    auto const code = parse_number<int>(parts[0]);
    auto const signal = parse_number<int>(parts[1]);
    if (!code || !signal) return std::nullopt;
    return *signal > 0 ? 128 + *signal : *code;
}

std::optional<plan::Job> parse_line(std::string_view line)
{
    auto const fields = split(line, '|');
    if (fields.size() != 6) return std::nullopt;
    plan::Job job;
    job.id = {std::string(fields[0])};
    // `CANCELLED by 1000`
    set_state(job, fields[1].substr(0, fields[1].find(' ')));
    if (job.state != plan::Job::State::ended) return std::nullopt;
    job.exit_code = parse_exit_code(fields[2]);
    job.started = parse_seconds(fields[3]);
    job.ended = parse_seconds(fields[4]);
    correct_unstarted(job);
    return job;
}

}  // namespace

char const* const sacct_format = "JobID,State,ExitCode,Start,End,JobName";

std::optional<plan::Job> find_in_sacct(std::string_view text, plan::JobId const& id,
                                       std::string_view name)
{
    for (auto const line : split(text, '\n')) {
        auto const bar = line.rfind('|');
        if (bar == std::string_view::npos || trim(line.substr(bar + 1)) != name) continue;
        if (auto job = parse_line(line); job && job->id == id) return job;
    }
    return std::nullopt;
}

}  // namespace curtail::launch
