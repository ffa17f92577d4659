// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/squeue.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "base/core/text.hpp"
#include "poller/launch/slurm_states.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using End = plan::Job::End;

constexpr std::string_view job_end = "|end-of-job";

// Returns whether a pending job will start without intervention, for example after the end of other
// jobs.
bool resolves_by_itself(std::string_view reason)
{
    static constexpr std::string_view lasting[] = {"PartitionTimeLimit",
                                                   "PartitionNodeLimit",
                                                   "PartitionDown",
                                                   "PartitionInactive",
                                                   "JobHeld",
                                                   "JobHoldMaxRequeue",
                                                   "BadConstraints",
                                                   "DependencyNeverSatisfied",
                                                   "Invalid",
                                                   "AccountNotAllowed",
                                                   "QOSNotAllowed",
                                                   "AssocGrp",
                                                   "QOSGrp",
                                                   "ReservationDeleted",
                                                   "Reservation_Deleted",
                                                   "DeadLine",
                                                   "launch_failed_requeued_held",
                                                   "launch failed requeued held",
                                                   "job requeued in held state"};
    bool const lasts =
        std::ranges::any_of(lasting, [&](auto name) { return reason.starts_with(name); });
    return !lasts && reason.find("PerJob") == std::string_view::npos;
}

void set_reason(plan::Job& job, std::string_view reason)
{
    bool const no_reason = reason.empty() || reason == "None" || reason == "(null)";
    if (job.state != State::pending || no_reason) return;
    job.reason = printable(reason.substr(0, 200));
    if (!resolves_by_itself(reason))
        job.warning = "job " + job.id.value + " waits for " + job.reason +
                      ", which may not resolve by itself: see `scontrol show job " + job.id.value +
                      "`";
}

// One job as text: the fields before the reason, then reason and comment.
struct JobText {
    std::array<std::string_view, 5> field;  // number, state, exit code, start, end
    std::string_view reason;
    std::string_view comment;
};

std::optional<JobText> split_fields(std::string_view text)
{
    JobText job;
    for (auto& field : job.field) {
        auto const bar = text.find('|');
        if (bar == std::string_view::npos) return std::nullopt;
        field = trim(text.substr(0, bar));
        text.remove_prefix(bar + 1);
    }
    // Our comments start with a brace. All text before it is the reason, whatever it contains.
    auto const bar = std::min(text.find("|{"), text.rfind('|'));
    if (bar == std::string_view::npos) return std::nullopt;
    job.reason = trim(text.substr(0, bar));
    job.comment = trim(text.substr(bar + 1));
    return job;
}

// Returns nothing if the text has another form, or if the job belongs to another run.
std::optional<plan::Job> parse_job(JobSpec const& spec, std::string_view text)
{
    auto const parts = split_fields(text);
    auto const id = parts ? parse_number<std::int64_t>(parts->field[0]) : std::nullopt;
    if (!id) return std::nullopt;
    auto const parsed = parse_comment(spec, std::string(parts->comment));
    if (parsed.owner == ParsedComment::Owner::other) return std::nullopt;
    plan::Job job;
    job.id = {std::to_string(*id)};
    job.window = parsed.comment.window;
    job.intent = parsed.comment.intent;
    set_state(job, parts->field[1]);
    set_reason(job, parts->reason);
    // A requeued job in its epilog has no end, and the start is not that of the run that ended.
    bool const is_requeued = job.state == State::ending && !parse_seconds(parts->field[4]);
    if (job.state != State::pending && !is_requeued) job.started = parse_seconds(parts->field[3]);
    if (job.state != State::ended) return job;
    job.ended = parse_seconds(parts->field[4]);
    if (auto const status = parse_number<int>(parts->field[2]))
        job.exit_code = exit_code_of(*status);
    correct_unstarted(job);
    return job;
}

}  // namespace

// Reason and comment come last because those of other users may contain any character, including
// line breaks; therefore each job ends with a marker. Job arrays and steps do not occur.
char const* const squeue_format =
    "JobID:|,State:|,exit_code:|,StartTime:|,EndTime:|,Reason:|,Comment:|end-of-job";

int exit_code_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<std::vector<plan::Job>> parse_squeue(JobSpec const& spec, std::string_view text)
{
    std::vector<plan::Job> jobs;
    for (auto rest = text; !trim(rest).empty();) {
        auto const end = rest.find(job_end);
        if (end == std::string_view::npos)
            return fail(ExitCode::data, "cannot parse the output of squeue",
                        "the end of a job is missing: " + printable(rest.substr(0, 200)));
        if (auto job = parse_job(spec, rest.substr(0, end))) jobs.push_back(std::move(*job));
        rest.remove_prefix(end + job_end.size());
    }
    std::ranges::sort(jobs, {}, [](plan::Job const& job) { return leading_integer(job.id.value); });
    return jobs;
}

}  // namespace curtail::launch
