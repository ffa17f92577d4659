// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/local.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "base/core/text.hpp"
#include "base/process/command.hpp"
#include "poller/launch/supervisor.hpp"

namespace curtail::launch {
namespace {

// Less than the plan's interval between two cancels, so that the second one kills.
constexpr Millis kill_delay{4'000};

std::optional<Time> modification_time(std::filesystem::path const& path)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return Time{Millis{status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000}};
}

process::ProcessIdentity read_identity(json::ObjectReader& r, std::string const& key)
{
    process::ProcessIdentity identity;
    r.object(key, [&](json::ObjectReader& o) {
        identity.pid = static_cast<pid_t>(o.integer("pid"));
        identity.started = static_cast<std::uint64_t>(o.integer("started"));
        o.require(identity.pid > 1, "pid", "must be more than 1");
    });
    return identity;
}

// The environment variable that only this job's processes have.
std::string job_variable(plan::JobId const& job) { return "CURTAIL_JOB=" + job.value; }

std::vector<std::pair<std::string, std::string>> job_environment(JobSpec const& spec,
                                                                 plan::JobId const& job)
{
    auto environment = process::plain_environment();
    environment.emplace_back("CURTAIL_JOB", job.value);
    environment.emplace_back("CURTAIL_INTENT", job.value);
    if (!spec.launch.prologue.empty())
        environment.emplace_back("CURTAIL_PROLOGUE", spec.launch.prologue.string());
    if (!spec.build.empty()) environment.emplace_back("CURTAIL_BUILD", spec.build.string());
    return environment;
}

}  // namespace

std::string LocalLauncher::record_head(Comment const& comment) const
{
    auto text = json::to_string(json::Object{{"comment", comment_text(spec_, comment)},
                                             {"host", process::host_name()},
                                             {"boot", process::boot_id()},
                                             {"started", format_time(SystemClock{}.now())}});
    text.back() = ',';
    return text;
}

Result<plan::JobId> LocalLauncher::submit(WindowId const& window, plan::IntentId const& intent)
{
    plan::JobId const job{intent.value};
    auto const what = "cannot start " + job_name(spec_);
    if (auto made = make_folder(folder()); !made)
        return tl::unexpected(made.error().with_context(what));
    if (auto made = ensure_private_folder(spec_.logs); !made)
        return tl::unexpected(made.error().with_context(what));
    auto const known = read_record(job);
    if (!known) return tl::unexpected(known.error().with_context(what));
    if (*known) return job;
    SupervisedScript const script{
        .arguments = {spec_.launch.script.string(), spec_.run_file.string(), spec_.site.value},
        .environment = job_environment(spec_, job),
        .folder = spec_.logs.string(),
        .log = log_file(job).string(),
        .record = file(job, ".json").string(),
        .record_head = record_head({window, intent}),
        .record_tail = "}\n",
        .exit_file = file(job, ".exit").string()};
    if (auto started = start_supervised(script, kernel_); !started)
        return tl::unexpected(started.error().with_context(what));
    return job;
}

LocalLauncher::Record LocalLauncher::parse_record(json::ObjectReader& r) const
{
    Record record;
    // The record's folder, not the comment, decides that the job is ours.
    record.comment = parse_comment(spec_, r.text("comment")).comment;
    record.host = r.text("host");
    record.script = read_identity(r, "script");
    record.supervisor = read_identity(r, "keeper");
    record.script.boot = record.supervisor.boot = r.text("boot");
    auto const started = parse_time(r.text("started"));
    r.require(started.has_value(), "started", "must be a time");
    record.started = started.value_or(Time{});
    return record;
}

Result<std::optional<LocalLauncher::Record>> LocalLauncher::read_record(
    plan::JobId const& job) const
{
    return json::read_record(file(job, ".json"),
                             [this](json::ObjectReader& r) { return parse_record(r); });
}

bool LocalLauncher::has_leftovers(plan::JobId const& job, Record const& record,
                                  std::optional<process::Sessions>& sessions) const
{
    if (!sessions) sessions = process::list_sessions();
    return process::signal_session(*sessions, record.script, job_variable(job), 0, kernel_) > 0;
}

void LocalLauncher::set_ending(plan::Job& job, Record const& record) const
{
    job.state = plan::Job::State::ending;
    job.launcher_state = "COMPLETING";
    if (record.host == process::host_name()) return;
    job.launcher_state = "UNKNOWN";
    job.warning = "job " + job.id.value + " was started on " + printable(record.host) +
                  " and is not visible from this machine: run the poller there, or, if that "
                  "machine no longer exists, remove " +
                  file(job.id, ".json").string();
}

void LocalLauncher::set_ended(plan::Job& job, std::optional<std::string> const& exit_code) const
{
    job.state = plan::Job::State::ended;
    job.ended = modification_time(file(job.id, ".exit"));
    job.launcher_state = "LOST";
    job.end = plan::Job::End::unknown;
    if (!exit_code) return;
    auto const code = static_cast<int>(leading_integer(*exit_code).value_or(0));
    job.exit_code = code;
    job.launcher_state = code == 0 ? "COMPLETED" : "FAILED";
    job.end = code == 0 ? plan::Job::End::clean : plan::Job::End::failed;
}

plan::Job LocalLauncher::inspect(plan::JobId const& id, Record const& record,
                                 std::optional<process::Sessions>& sessions) const
{
    plan::Job job;
    job.id = id;
    job.window = record.comment.window;
    job.intent = record.comment.intent;
    job.state = plan::Job::State::running;
    job.launcher_state = "RUNNING";
    job.started = record.started;
    bool const here = record.host == process::host_name();
    if (here && process::is_running(record.script)) return job;
    // Checked before the exit code is read: the supervisor writes it and exits.
    bool const supervised = here && process::is_running(record.supervisor);
    auto const exit_code = read_file_if_exists(file(id, ".exit"), 64).value_or(std::nullopt);
    bool const undecided = !exit_code && (!here || supervised);
    // With Slurm the node itself would end leftover processes.
    job.leftovers = here && has_leftovers(id, record, sessions);
    if (job.leftovers || undecided) set_ending(job, record);
    else set_ended(job, exit_code);
    return job;
}

Result<std::vector<plan::Job>> LocalLauncher::jobs()
{
    std::vector<plan::Job> jobs;
    std::optional<process::Sessions> sessions;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder(), error), end; !error && it != end;
         it.increment(error)) {
        if (it->path().extension() != ".json") continue;
        plan::JobId const id{it->path().stem().string()};
        auto const record = read_record(id);
        if (!record) return tl::unexpected(record.error());
        if (*record) jobs.push_back(inspect(id, **record, sessions));
    }
    if (error && error != std::errc::no_such_file_or_directory)
        return fail(ExitCode::io, "cannot list jobs in " + folder().string(), error.message());
    std::ranges::sort(jobs, {}, &plan::Job::started);
    return jobs;
}

Result<void> LocalLauncher::drain(plan::JobId const& job)
{
    auto const record = read_record(job);
    if (!record) return tl::unexpected(record.error());
    if (*record) process::signal_process((*record)->script, job_variable(job), SIGUSR1, kernel_);
    return {};
}

Result<void> LocalLauncher::cancel(plan::JobId const& job, bool only_pending)
{
    auto const record = read_record(job);
    if (!record) return tl::unexpected(record.error());
    if (!*record || only_pending) return {};
    auto const cancel_file = file(job, ".cancel");
    auto const first_cancel = modification_time(cancel_file);
    auto const now = SystemClock{}.now();
    if (!first_cancel)
        if (auto written = write_file(cancel_file, format_time(now) + "\n"); !written)
            return written;
    bool const kills = first_cancel && now - *first_cancel >= kill_delay;
    process::signal_session(process::list_sessions(), (*record)->script, job_variable(job),
                            kills ? SIGKILL : SIGTERM, kernel_);
    return {};
}

}  // namespace curtail::launch
