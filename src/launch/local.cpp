// SPDX-License-Identifier: Apache-2.0
#include "launch/local.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "launch/command.hpp"
#include "launch/keeper.hpp"

namespace curtail::launch {
namespace {

/// Less than the plan's pause between two cancels, so that the second one kills.
constexpr Millis kill_wait{4'000};

std::optional<Time> written_at(std::filesystem::path const& path)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return Time{Millis{status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000}};
}

/// Members of a JSON object, without its braces.
std::string members(json::Object const& object)
{
    auto const text = json::to_string(object);
    return text.substr(1, text.size() - 2);
}

ProcessIdentity read_identity(json::ObjectReader& r, std::string const& key)
{
    ProcessIdentity identity;
    r.object(key, [&](json::ObjectReader& o) {
        identity.pid = static_cast<pid_t>(o.integer("pid"));
        identity.started = static_cast<std::uint64_t>(o.integer("started"));
        o.require(identity.pid > 1, "pid", "must be more than 1");
    });
    return identity;
}

/// What a job's processes have in their environment, and nobody else.
std::string job_variable(plan::JobId const& job) { return "CURTAIL_JOB=" + job.value; }

}  // namespace

Result<plan::JobId> LocalLauncher::submit(WindowId const& window, plan::IntentId const& intent)
{
    plan::JobId const job{intent.value};
    auto const what = "cannot start " + job_name(order_);
    if (auto made = make_folder(folder()); !made) return tl::unexpected(made.error().within(what));
    auto const known = read_record(job);
    if (!known) return tl::unexpected(known.error().within(what));
    if (*known) return job;
    KeptScript script;
    script.arguments = {order_.how.script.string(), order_.run_file.string(), order_.site.value};
    script.environment = plain_environment();
    script.environment.emplace_back("CURTAIL_JOB", job.value);
    if (!order_.how.prologue.empty())
        script.environment.emplace_back("CURTAIL_PROLOGUE", order_.how.prologue.string());
    if (!order_.build.empty())
        script.environment.emplace_back("CURTAIL_BUILD", order_.build.string());
    script.folder = order_.folder.string();
    script.log = (order_.folder / ("job-" + job.value + ".log")).string();
    script.record = file(job, ".json").string();
    script.record_head = "{" +
                         members({{"comment", comment_text(order_, {window, intent})},
                                  {"host", host_name()},
                                  {"boot", boot_id()},
                                  {"started", format_time(SystemClock{}.now())}}) +
                         ",";
    script.record_tail = "}\n";
    script.exit_file = file(job, ".exit").string();
    if (auto started = start_kept(script); !started)
        return tl::unexpected(started.error().within(what));
    return job;
}

Result<std::optional<LocalLauncher::Record>> LocalLauncher::read_record(
    plan::JobId const& job) const
{
    return json::read_record(file(job, ".json"), [this](json::ObjectReader& r) {
        Record record;
        record.comment =
            read_comment(order_, r.text("comment")).comment;  // its folder says whose it is
        record.host = r.text("host");
        record.script = read_identity(r, "script");
        record.keeper = read_identity(r, "keeper");
        record.script.boot = record.keeper.boot = r.text("boot");
        auto const started = parse_time(r.text("started"));
        r.require(started.has_value(), "started", "must be a time");
        record.started = started.value_or(Time{});
        return record;
    });
}

plan::Job LocalLauncher::look_at(plan::JobId const& id, Record const& record,
                                 std::optional<Sessions>& sessions) const
{
    using State = plan::Job::State;
    plan::Job job{id,
                  record.comment.window,
                  record.comment.intent,
                  State::running,
                  "RUNNING",
                  {},
                  record.started,
                  {}};
    bool const here = record.host == host_name();
    if (here && is_running(record.script)) return job;
    // Before the exit code is read: a keeper writes it and goes.
    bool const kept = here && is_running(record.keeper);
    auto const code = read_file_if_exists(file(id, ".exit"), 64);
    bool const known = code && *code;
    if (here && !sessions) sessions = list_sessions();
    // With Slurm the node would clean up.
    job.leftovers = here && signal_session(*sessions, record.script, job_variable(id), 0) > 0;
    if (job.leftovers || (!known && (!here || kept))) {
        job.state = State::ending;
        job.word = here ? "COMPLETING" : "UNKNOWN";
        if (!here)
            job.warning =
                "job " + id.value + " was started on " + printable(record.host) +
                " and cannot be seen from here: poll there, or, if that machine is gone, remove " +
                file(id, ".json").string();
        return job;
    }
    job.state = State::ended;
    job.ended = written_at(file(id, ".exit"));
    job.word = "LOST";
    if (!known) return job;
    int exit_code = 0;
    std::from_chars((*code)->data(), (*code)->data() + (*code)->size(), exit_code);
    job.exit_code = exit_code;
    job.word = exit_code == 0 ? "COMPLETED" : "FAILED";
    job.end = exit_code == 0 ? plan::Job::End::clean : plan::Job::End::failed;
    return job;
}

Result<std::vector<plan::Job>> LocalLauncher::jobs()
{
    std::vector<plan::Job> jobs;
    std::optional<Sessions> sessions;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder(), error), end; !error && it != end;
         it.increment(error)) {
        if (it->path().extension() != ".json") continue;
        plan::JobId const id{it->path().stem().string()};
        auto const record = read_record(id);
        if (!record) return tl::unexpected(record.error());
        if (*record) jobs.push_back(look_at(id, **record, sessions));
    }
    if (error && error != std::errc::no_such_file_or_directory)
        return fail(ExitCode::io, "cannot list jobs in " + folder().string(), error.message());
    std::sort(jobs.begin(), jobs.end(),
              [](plan::Job const& a, plan::Job const& b) { return a.started < b.started; });
    return jobs;
}

Result<void> LocalLauncher::drain(plan::JobId const& job)
{
    auto const record = read_record(job);
    if (!record) return tl::unexpected(record.error());
    if (*record) signal_process((*record)->script, SIGUSR1);
    return {};
}

Result<void> LocalLauncher::cancel(plan::JobId const& job, bool only_pending)
{
    auto const record = read_record(job);
    if (!record) return tl::unexpected(record.error());
    if (!*record || only_pending) return {};
    auto const mark = file(job, ".cancel");
    auto const asked = written_at(mark);
    auto const now = SystemClock{}.now();
    if (!asked)
        if (auto written = write_file(mark, format_time(now) + "\n"); !written) return written;
    signal_session(list_sessions(), (*record)->script, job_variable(job),
                   asked && now - *asked >= kill_wait ? SIGKILL : SIGTERM);
    return {};
}

}  // namespace curtail::launch
