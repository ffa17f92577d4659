// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/squeue.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"
#include "poller/launch/slurm_states.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using End = plan::Job::End;

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
    std::array<std::string_view, 7>
        field;  // number, user, state, exit code, submission, start, end
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

// Returns nothing if the text is not one job.
std::optional<JobText> parse_fields(std::string_view text)
{
    auto const job = split_fields(text);
    if (!job) return std::nullopt;
    auto const& field = job->field;
    bool const good = is_job_number(field[0]) && !field[1].empty() && is_state(field[2]) &&
                      parse_number<int>(field[3]) && is_time(field[4]) && is_time(field[5]) &&
                      is_time(field[6]);
    return good ? job : std::nullopt;
}

// Returns whether an object has at least one key of our comments.
bool has_our_keys(json::Value const& value)
{
    static constexpr std::string_view keys[] = {"run", "site", "folder", "window", "intent"};
    auto const* const object = value.as_object();
    return object != nullptr &&
           std::ranges::any_of(keys, [&](auto key) { return object->find(key) != nullptr; });
}

// Returns whether a comment is like ours, but was cut short, is damaged or lacks a key. Text of a
// plugin after the closing brace is neither.
bool is_damaged(JobSpec const& spec, std::string comment)
{
    auto const parse = [](std::string const& text) {
        return json::parse(text, "job comment", json::Dialect::strict, json::record_limits);
    };
    if (!comment.starts_with('{')) return false;
    auto value = parse(comment);
    if (!value) {
        auto const end = comment.find('}');
        if (end == std::string::npos) return true;
        comment.resize(end + 1);
        value = parse(comment);
    }
    if (!value) return true;
    return has_our_keys(*value) &&
           parse_comment(spec, comment).owner == ParsedComment::Owner::unknown;
}

plan::Job to_job(JobText const& text, Comment const& comment)
{
    plan::Job job;
    job.id = {std::string(text.field[0])};
    job.window = comment.window;
    job.intent = comment.intent;
    set_state(job, text.field[2]);
    set_reason(job, text.reason);
    job.submitted = parse_seconds(text.field[4]);
    // A requeued job in its epilog has no end, and the start is not that of the run that ended.
    bool const is_requeued = job.state == State::ending && !parse_seconds(text.field[6]);
    if (job.state != State::pending && !is_requeued) job.started = parse_seconds(text.field[5]);
    if (job.state != State::ended) return job;
    job.ended = parse_seconds(text.field[6]);
    if (auto const status = parse_number<int>(text.field[3])) job.exit_code = exit_code_of(*status);
    correct_unstarted(job);
    return job;
}

// Jobs of other users come only for a shared run.
bool is_user_of(JobSpec const& spec, std::string_view user)
{
    return !spec.shared_group || user == own_user_name() ||
           is_member(std::string(user), *spec.shared_group);
}

bool is_header(std::string_view text) { return text.starts_with("JOBID|USER|STATE|"); }

}  // namespace

// Reason and comment come last because those of other users may contain any character, including
// line breaks. Job arrays and steps do not occur. The first field is there for its suffix.
std::string squeue_format(Marks const& marks)
{
    return "JobID:" + marks.begin +
           ",JobID:|,UserName:|,State:|,exit_code:|,SubmitTime:|,StartTime:|,EndTime:|,Reason:|,"
           "Comment:" +
           marks.end;
}

int exit_code_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<std::vector<plan::Job>> parse_squeue(JobSpec const& spec, std::string_view text,
                                            Marks const& marks)
{
    auto const records = find_records(text, marks, "squeue");
    if (!records) return tl::unexpected(records.error());
    if (records->empty() || !is_header(records->front()))
        return cannot_parse("squeue", "its header is missing", text);
    std::vector<plan::Job> jobs;
    for (auto const record : std::span(*records).subspan(1)) {
        auto const fields = parse_fields(record);
        if (!fields) return cannot_parse("squeue", "this is not a job", record);
        if (!is_user_of(spec, fields->field[1])) continue;
        std::string const comment(fields->comment);
        if (is_damaged(spec, comment))
            return cannot_parse("squeue", "a comment is damaged", record);
        auto const parsed = parse_comment(spec, comment);
        // The job has the name of this site's jobs. A comment that contradicts the name does not
        // say whose job it is.
        bool const is_ours = parsed.owner == ParsedComment::Owner::ours;
        jobs.push_back(to_job(*fields, is_ours ? parsed.comment : Comment{}));
    }
    std::ranges::sort(jobs, {}, [](plan::Job const& job) { return leading_integer(job.id.value); });
    return jobs;
}

}  // namespace curtail::launch
