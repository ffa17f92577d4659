// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "base/core/text.hpp"
#include "poller/launch/federation.hpp"
#include "poller/launch/sacct.hpp"
#include "poller/launch/slurm_states.hpp"
#include "poller/launch/squeue.hpp"

namespace curtail::launch {
namespace {

// Slurm replaces %x in the names of log files.
std::string escape_percent(std::string_view path)
{
    std::string escaped;
    for (char c : path) escaped.append(c == '%' ? 2 : 1, c);
    return escaped;
}

// The last lines that a client wrote to stderr. A plugin of the centre explains its refusal before
// the client's own error.
std::string last_lines(std::string_view errors)
{
    constexpr std::size_t most = 3;
    std::vector<std::string_view> lines;
    for (auto line : split(errors, '\n'))
        if (!trim(line).empty()) lines.push_back(trim(line));
    std::string text;
    for (std::size_t i = lines.size() - std::min(lines.size(), most); i < lines.size(); ++i)
        text += (text.empty() ? "" : "; ") + printable(lines[i]);
    return text.empty() ? "it failed without an error message" : text;
}

tl::unexpected<Error> failed(process::CommandResult const& result, std::string what)
{
    // A client that was killed or prints nothing has not refused.
    bool const no_answer =
        means_no_answer(result.errors) || result.exit_code > 128 || trim(result.errors).empty();
    return fail(no_answer ? ExitCode::temporary : ExitCode::unavailable, std::move(what),
                last_lines(result.errors),
                no_answer ? "is slurmctld running? see `scontrol ping`" : "");
}

// Why a command that only asks a question gave no answer that counts; empty if it did. Output
// before an exit code other than 0 may be a part of the answer.
std::string without_success(Result<process::CommandResult> const& finished)
{
    if (!finished) return finished.error().why;
    auto const code = finished->exit_code;
    if (code == 0) return {};
    if (code > 128) return fmt::format("signal {} ended it", code - 128);
    return fmt::format("exit code {}: {}", code, last_lines(finished->errors));
}

// Returns what a record says about the end of a job that contradicts what is known about the job.
std::string contradiction(plan::Job const& record, MissingJob const& missing)
{
    if (!record.ended) return {};
    auto const before = [&](std::optional<Time> const& moment, char const* what) {
        // Slurm prints whole seconds.
        bool const is_before = moment && *record.ended + Seconds{1} <= *moment;
        return is_before ? fmt::format("ended at {}, before {} at {}", format_time(*record.ended),
                                       what, format_time(*moment))
                         : std::string();
    };
    auto why = before(missing.job.submitted, "its submission");
    if (why.empty()) why = before(missing.started, "its start");
    // The clocks of the nodes may differ from that of the controller.
    constexpr Seconds clock_tolerance{5};
    if (missing.last_sign && why.empty())
        why = before(*missing.last_sign - clock_tolerance, "its last event or step");
    return why;
}

// The error of a command that changes something and whose answer is missing. Unless the command
// could not start, it may have had its effect.
tl::unexpected<Error> without_answer(Error const& why, std::string_view what)
{
    auto error = why.with_context(std::string(what));
    if (error.code != ExitCode::unavailable) error.code = ExitCode::temporary;
    return tl::unexpected(std::move(error));
}

}  // namespace

bool means_no_answer(std::string_view errors)
{
    static constexpr std::string_view signs[] = {"Unable to contact",
                                                 "timed out",
                                                 "Connection refused",
                                                 "connection failure",
                                                 "Zero Bytes",
                                                 "not responding",
                                                 "temporarily unable",
                                                 "Connection reset",
                                                 "Communication shutdown",
                                                 "in standby mode",
                                                 "Connection timed out",
                                                 "Message receive failure",
                                                 "Invalid authentication",
                                                 "Protocol authentication"};
    return std::ranges::any_of(
        signs, [&](auto sign) { return errors.find(sign) != std::string_view::npos; });
}

process::CommandSpec SlurmLauncher::make_command(std::vector<std::string> arguments,
                                                 plan::IntentId const& intent) const
{
    auto const& launch = spec_.launch;
    process::CommandSpec command{std::move(arguments), process::plain_environment(),
                                 launch.command_deadline};
    auto const set = [&](char const* name, std::string value) {
        if (!value.empty()) command.environment.emplace_back(name, std::move(value));
    };
    char const* inherited = std::getenv("SLURM_CONF");
    set("SLURM_CONF",
        launch.slurm_conf.empty() && inherited != nullptr ? inherited : launch.slurm_conf.string());
    bool const prints_times =
        command.arguments.front() == "squeue" || command.arguments.front() == "sacct";
    if (prints_times) set("SLURM_TIME_FORMAT", "%s");
    set("CURTAIL_BUILD", spec_.build.string());
    set("CURTAIL_PROLOGUE", launch.prologue.string());
    set("CURTAIL_INTENT", intent.value);  // tells the job that it needs the poller's permission
    return command;
}

Result<process::CommandResult> SlurmLauncher::run(std::vector<std::string> arguments,
                                                  plan::IntentId const& intent) const
{
    // Without the file Slurm's clients search the network for their cluster, longer than any
    // deadline.
    auto const& conf = spec_.launch.slurm_conf;
    if (std::error_code error; !conf.empty() && !std::filesystem::exists(conf, error))
        return fail(ExitCode::unavailable, "cannot run " + arguments.at(0),
                    conf.string() + " does not exist",
                    "is the cluster up? A private one: slurm/private_clusters.sh up");
    return process::run_command(make_command(std::move(arguments), intent));
}

Result<std::optional<std::string>> SlurmLauncher::federated_cluster() const
{
    auto const finished = run({"scontrol", "show", "federation"});
    if (!finished && finished.error().code == ExitCode::unavailable)
        return tl::unexpected(finished.error());
    // Without an answer, the job of a member could run in another grid region.
    if (auto why = without_success(finished); !why.empty())
        return fail(ExitCode::temporary, "cannot ask scontrol for a federation", std::move(why),
                    "does `scontrol show federation` answer on this machine?");
    return find_federated_cluster(finished->output);
}

std::vector<std::string> SlurmLauncher::sbatch_arguments(
    Comment const& comment, std::optional<std::string> const& cluster) const
{
    auto const& launch = spec_.launch;
    // `sbatch --signal` takes whole seconds of 16 bits.
    auto const grace_s =
        std::min<std::int64_t>(std::chrono::ceil<Seconds>(launch.grace).count(), 65'535);
    std::vector<std::string> arguments{
        "sbatch", "--parsable", "--job-name=" + job_name(spec_),
        "--comment=" + comment_text(spec_, comment), "--dependency=singleton",
        "--no-requeue",      // the poller decides which jobs run again
        "--propagate=NONE",  // not the limits of the poller, such as its core limit of 0
        "--open-mode=append", "--output=" + escape_percent(spec_.logs.string()) + "/job-%j.log",
        "--chdir=" + spec_.logs.string(), "--ntasks=" + std::to_string(spec_.ranks),
        "--time=" + launch.time_limit,
        // Before its time limit a job has as long to stop as after its window closes.
        "--signal=B:USR1@" + std::to_string(grace_s),
        // The environment of sbatch is already an explicit list. With a list here slurmd would run
        // the user's login shell for the rest, which takes a second and exports its profile.
        "--export=ALL"};
    if (!launch.partition.empty()) arguments.push_back("--partition=" + launch.partition);
    if (launch.nodes > 0) arguments.push_back("--nodes=" + std::to_string(launch.nodes));
    if (cluster) arguments.push_back("--clusters=" + *cluster);
    for (auto const& option : launch.sbatch_options) arguments.push_back(option);
    for (auto const& last : {launch.script.string(), spec_.run_file.string(), spec_.site.value})
        arguments.push_back(last);
    return arguments;
}

Result<plan::JobId> SlurmLauncher::submit(WindowId const& window, plan::IntentId const& intent)
{
    auto const what = "cannot submit " + job_name(spec_);
    if (auto made = make_folder(spec_.folder); !made)
        return tl::unexpected(made.error().with_context(what));
    if (auto made = ensure_private_folder(spec_.logs); !made)
        return tl::unexpected(made.error().with_context(what));
    auto const cluster = federated_cluster();
    if (!cluster) return tl::unexpected(cluster.error().with_context(what));
    auto const finished = run(sbatch_arguments({window, intent}, *cluster), intent);
    if (!finished) return without_answer(finished.error(), what);
    if (finished->exit_code != 0) return failed(*finished, what);
    // `id` or `id;cluster`. Without the end of the line, a part of the number may be missing.
    auto const id = trim(split(finished->output, ';').front());
    if (is_job_number(id) && finished->output.ends_with('\n')) return plan::JobId{std::string(id)};
    return fail(ExitCode::temporary, what,
                "sbatch printed " + printable(finished->output.substr(0, 200)) +
                    " instead of a job number");
}

Result<std::vector<plan::Job>> SlurmLauncher::jobs()
{
    auto const what = "cannot list jobs " + job_name(spec_);
    auto const marks = new_marks();
    std::vector<std::string> arguments{"squeue", "--local"};
    if (!spec_.shared_group) arguments.emplace_back("--me");
    for (auto const& last : {std::string("--states=all"), "--name=" + job_name(spec_),
                             "--Format=" + squeue_format(marks)})
        arguments.push_back(last);
    auto const finished = run(std::move(arguments));
    if (!finished) return tl::unexpected(finished.error().with_context(what));
    if (finished->exit_code != 0) return failed(*finished, what);
    return parse_squeue(spec_, finished->output, marks);
}

Result<void> SlurmLauncher::scancel(std::vector<std::string> options, plan::JobId const& job) const
{
    options.insert(options.begin(), "scancel");
    options.push_back(job.value);
    auto const what = "cannot signal job " + job.value;
    auto const finished = run(std::move(options));
    if (!finished) return without_answer(finished.error(), what);
    if (finished->exit_code == 0) return {};
    // Only its own user may signal a job. Without a permission it stops all the same.
    bool const is_denied = finished->errors.find("Access/permission denied") != std::string::npos;
    if (spec_.shared_group && is_denied) return {};
    for (auto const* ended : {"Invalid job id", "already completing or completed"})
        if (finished->errors.find(ended) != std::string::npos) return {};
    return failed(*finished, what);
}

Result<std::optional<std::string>> SlurmLauncher::ask_sacct(std::string const& option,
                                                            plan::JobId const& job,
                                                            Marks const& marks) const
{
    auto const finished = run({"sacct", "--parsable", "--delimiter=" + marks.separator, option,
                               "--jobs=" + job.value, std::string("--format=") + sacct_format});
    bool const is_missing = !finished && finished.error().code == ExitCode::unavailable;
    bool const is_disabled =
        finished && finished->exit_code == 1 && means_no_accounting(finished->errors);
    if (is_missing || is_disabled) return std::optional<std::string>{};
    if (auto why = without_success(finished); !why.empty())
        return fail(ExitCode::temporary, "cannot ask sacct how job " + job.value + " ended",
                    std::move(why), "does `sacct " + option + "` answer on this machine?");
    return std::optional(finished->output);
}

Result<PastJob> SlurmLauncher::past_job(MissingJob const& missing)
{
    PastJob past;
    std::optional<Error> unanswered;
    for (auto const& [option, source] : {std::pair("--allocations", SacctSource::accounting),
                                         std::pair("--completion", SacctSource::completion_log)}) {
        auto const marks = new_marks();
        auto const answer = ask_sacct(option, missing.job.id, marks);
        // The completion log may know what the database cannot tell now.
        if (!answer && !unanswered) unanswered = answer.error();
        if (!answer || !*answer) continue;
        auto found = find_in_sacct(**answer, marks, source, missing, job_name(spec_));
        if (!found) return tl::unexpected(found.error());
        if (!*found) continue;
        if (auto why = contradiction(**found, missing); !why.empty()) {
            past.doubts.push_back("sacct " + std::string(option) + " says that job " +
                                  missing.job.id.value + " " + why + "; that is not believed");
            continue;
        }
        past.job = std::move(*found);
        past.job->intent = missing.job.intent;
        return past;
    }
    if (unanswered) return tl::unexpected(*unanswered);
    return past;
}

Result<std::optional<SlurmLauncher::AccountedJobs>> SlurmLauncher::accounted_jobs(Time since)
{
    auto const marks = new_marks();
    auto const begin = std::chrono::floor<Seconds>(since.time_since_epoch()).count();
    auto const finished =
        run({"sacct", "--parsable", "--delimiter=" + marks.separator, "--allocations",
             "--name=" + job_name(spec_), "--starttime=uts" + std::to_string(begin),
             std::string("--format=") + accounts_format});
    auto const what = "cannot ask for the accounts of jobs " + job_name(spec_);
    if (!finished) return tl::unexpected(finished.error().with_context(what));
    if (finished->exit_code != 0)
        return fail(ExitCode::unavailable, what, last_lines(finished->errors));
    auto jobs = parse_accounts(finished->output, marks, job_name(spec_));
    if (!jobs) return tl::unexpected(jobs.error());
    return std::optional(std::move(*jobs));
}

std::filesystem::path SlurmLauncher::log_file(plan::JobId const& job) const
{
    return spec_.logs / ("job-" + job.value + ".log");
}

Result<void> SlurmLauncher::drain(plan::JobId const& job)
{
    return scancel({"--batch", "--signal=USR1"}, job);
}

Result<void> SlurmLauncher::cancel(plan::JobId const& job, bool only_pending)
{
    return scancel(
        only_pending ? std::vector<std::string>{"--state=PENDING"} : std::vector<std::string>{},
        job);
}

}  // namespace curtail::launch
