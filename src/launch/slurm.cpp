// SPDX-License-Identifier: Apache-2.0
#include "launch/slurm.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

template <class Number>
std::optional<Number> number(std::string_view text)
{
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Sets state and end of a job that Slurm shows with this word. A word that is not known here is
/// one of a job that may live: whoever takes it for ended starts a second one.
void set_state(plan::Job& job, std::string_view word)
{
    using End = plan::Job::End;
    job.word = printable(word);
    job.state = State::ended;
    if (is_one_of(word, {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
                         "RESV_DEL_HOLD"})) {
        job.state = State::pending;
    } else if (is_one_of(word, {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING",
                                "SIGNALING", "POWER_UP_NODE"})) {
        job.state = State::running;
    } else if (is_one_of(word, {"COMPLETING", "STAGE_OUT", "UPDATE_DB"})) {
        job.state = State::ending;
    } else if (word == "COMPLETED") {
        job.end = End::clean;
    } else if (is_one_of(word, {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"})) {
        job.end = End::displaced;
    } else if (is_one_of(word, {"FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY",
                                "LAUNCH_FAILED", "RECONFIG_FAIL"})) {
        job.end = End::failed;
    } else {
        job.state = State::ending;
        job.warning = "job " + job.id.value + " is in state " + job.word +
                      ", which is not known here: it counts as one that has not ended";
    }
}

/// Whether what a pending job waits for comes without anybody's doing, such as the end of other
/// jobs.
bool passes_by_itself(std::string_view reason)
{
    static constexpr std::string_view beginnings[] = {"PartitionTimeLimit",
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
                                                      "launch_failed_requeued_held"};
    bool const stays = std::any_of(std::begin(beginnings), std::end(beginnings),
                                   [&](auto word) { return reason.starts_with(word); });
    return !stays && !contains(reason, "PerJob");
}

void set_reason(plan::Job& job, std::string_view reason)
{
    if (job.state != State::pending || is_one_of(reason, {"", "None", "(null)"})) return;
    job.reason = printable(reason.substr(0, 200));
    if (!passes_by_itself(reason))
        job.warning = "job " + job.id.value + " waits for " + job.reason +
                      ", which may not pass by itself: see `scontrol show job " + job.id.value +
                      "`";
}

/// SLURM_TIME_FORMAT=%s prints seconds since 1970, and words where there is no time.
std::optional<Time> moment(std::string_view text)
{
    auto const seconds = number<std::int64_t>(text);
    return seconds && *seconds > 0 ? std::optional(Time{Seconds{*seconds}}) : std::nullopt;
}

/// As `sbatch --signal` takes them: rounded up, 16 bits.
std::int64_t whole_seconds(Millis duration)
{
    return std::min<std::int64_t>(std::chrono::ceil<Seconds>(duration).count(), 65'535);
}

/// Slurm replaces %x in the names of log files.
std::string escape_percent(std::string_view path)
{
    std::string escaped;
    for (char c : path) escaped.append(c == '%' ? 2 : 1, c);
    return escaped;
}

/// The last line a client wrote, without its name: what a person wants to know.
std::string last_line(std::string_view errors)
{
    std::string_view last;
    for (auto line : split(errors, '\n'))
        if (!trim(line).empty()) last = trim(line);
    return last.empty() ? "it failed without a word" : printable(last);
}

tl::unexpected<Error> failed(Finished const& finished, std::string what)
{
    // A client that was killed, or that says nothing, has not said no.
    bool const silent =
        is_silence(finished.errors) || finished.exit_code > 128 || trim(finished.errors).empty();
    return fail(silent ? ExitCode::temporary : ExitCode::unavailable, std::move(what),
                last_line(finished.errors),
                silent ? "is slurmctld running? see `scontrol ping`" : "");
}

}  // namespace

// Reason and comment are last: a foreign one may hold any character, line breaks too, so each job
// ends with a word of its own. Job arrays and steps do not occur.
char const* const squeue_format =
    "JobID:|,State:|,exit_code:|,StartTime:|,EndTime:|,Reason:|,Comment:|end-of-job";
constexpr std::string_view job_end = "|end-of-job";

int exit_code_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

bool is_silence(std::string_view errors)
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
    return std::any_of(std::begin(signs), std::end(signs),
                       [&](auto sign) { return contains(errors, sign); });
}

namespace {

/// One job; nothing if the text is not of our form, or the job is another's.
std::optional<plan::Job> parse_job(JobOrder const& order, std::string_view text)
{
    std::string_view field[5];
    for (auto& one : field) {
        auto const bar = text.find('|');
        if (bar == std::string_view::npos) return std::nullopt;
        one = trim(text.substr(0, bar));
        text.remove_prefix(bar + 1);
    }
    auto const id = number<std::int64_t>(field[0]);
    // Our comments begin with a brace; what stands before is the reason, whatever characters it
    // has.
    auto const bar = std::min(text.find("|{"), text.rfind('|'));
    if (!id || bar == std::string_view::npos) return std::nullopt;
    auto const claim = read_comment(order, std::string(trim(text.substr(bar + 1))));
    if (claim.owner == Claim::Owner::another) return std::nullopt;
    plan::Job job;
    job.id = {std::to_string(*id)};
    job.window = claim.comment.window;
    job.intent = claim.comment.intent;
    set_state(job, field[1]);
    set_reason(job, trim(text.substr(0, bar)));
    if (job.state != State::pending) job.started = moment(field[3]);
    if (job.state == State::ended) {
        job.ended = moment(field[4]);
        // Cancelled in the queue: shown as if it had begun at its end.
        if (job.started == job.ended && field[1] == "CANCELLED") job.started.reset();
        if (auto const status = number<int>(field[2])) job.exit_code = exit_code_of(*status);
    }
    return job;
}

}  // namespace

Result<std::vector<plan::Job>> parse_squeue(JobOrder const& order, std::string_view text)
{
    std::vector<plan::Job> jobs;
    for (auto rest = text; !trim(rest).empty();) {
        auto const end = rest.find(job_end);
        if (end == std::string_view::npos)
            return fail(ExitCode::data, "cannot understand squeue",
                        "not the end of a job: " + printable(rest.substr(0, 200)));
        if (auto job = parse_job(order, rest.substr(0, end))) jobs.push_back(std::move(*job));
        rest.remove_prefix(end + job_end.size());
    }
    std::sort(jobs.begin(), jobs.end(), [](plan::Job const& a, plan::Job const& b) {
        return number<std::int64_t>(a.id.value) < number<std::int64_t>(b.id.value);
    });
    return jobs;
}

/// Without the file Slurm's clients look for their cluster in the network, which takes longer than
/// any deadline.
Result<Finished> SlurmLauncher::run(std::vector<std::string> arguments) const
{
    auto const& conf = order_.how.slurm_conf;
    if (std::error_code error; !conf.empty() && !std::filesystem::exists(conf, error))
        return fail(ExitCode::unavailable, "cannot run " + arguments.at(0),
                    conf.string() + " is not there",
                    "is the cluster up? A private one: slurm/private_clusters.sh up");
    Command command{std::move(arguments), plain_environment(), order_.how.command_deadline};
    char const* inherited = std::getenv("SLURM_CONF");
    if (!order_.how.slurm_conf.empty())
        command.environment.emplace_back("SLURM_CONF", order_.how.slurm_conf.string());
    else if (inherited != nullptr) command.environment.emplace_back("SLURM_CONF", inherited);
    if (command.arguments.front() == "squeue")
        command.environment.emplace_back("SLURM_TIME_FORMAT", "%s");
    if (!order_.build.empty())
        command.environment.emplace_back("CURTAIL_BUILD", order_.build.string());
    if (!order_.how.prologue.empty())
        command.environment.emplace_back("CURTAIL_PROLOGUE", order_.how.prologue.string());
    return run_command(command);
}

Result<plan::JobId> SlurmLauncher::submit(WindowId const& window, plan::IntentId const& intent)
{
    auto const what = "cannot submit " + job_name(order_);
    if (auto made = make_folder(order_.folder); !made)
        return tl::unexpected(made.error().within(what));
    std::vector<std::string> arguments{
        "sbatch", "--parsable", "--job-name=" + job_name(order_),
        "--comment=" + comment_text(order_, {window, intent}), "--dependency=singleton",
        "--no-requeue",  // the poller decides what runs again
        "--open-mode=append", "--output=" + escape_percent(order_.folder.string()) + "/job-%j.log",
        "--chdir=" + order_.folder.string(), "--ntasks=" + std::to_string(order_.ranks),
        "--time=" + order_.how.time_limit,
        // Before its time limit a job gets as long to stop as when its window closes.
        "--signal=B:USR1@" + std::to_string(whole_seconds(order_.how.grace)),
        // All of sbatch's environment, which is a written list. A list here would make slurmd run
        // the user's login shell for the rest: a second lost, and whatever its profile exports.
        "--export=ALL"};
    if (!order_.how.partition.empty()) arguments.push_back("--partition=" + order_.how.partition);
    for (auto const& option : order_.how.sbatch_options) arguments.push_back(option);
    for (auto const& last :
         {order_.how.script.string(), order_.run_file.string(), order_.site.value})
        arguments.push_back(last);
    auto const finished = run(std::move(arguments));
    if (!finished) {
        auto error = finished.error().within(what);
        if (error.code != ExitCode::unavailable)
            error.code = ExitCode::temporary;  // sbatch may have done its work
        return tl::unexpected(error);
    }
    if (finished->exit_code != 0) return failed(*finished, what);
    // `id` or `id;cluster`.
    auto const id = trim(split(finished->output, ';').front());
    if (!number<std::int64_t>(id))
        return fail(ExitCode::temporary, what,
                    "sbatch answered " + printable(finished->output.substr(0, 200)) +
                        " instead of a job number");
    return plan::JobId{std::string(id)};
}

Result<std::vector<plan::Job>> SlurmLauncher::jobs()
{
    auto const what = "cannot list jobs " + job_name(order_);
    auto const finished =
        run({"squeue", "--noheader", "--me", "--states=all", "--name=" + job_name(order_),
             std::string("--Format=") + squeue_format});
    if (!finished) return tl::unexpected(finished.error().within(what));
    if (finished->exit_code != 0) return failed(*finished, what);
    return parse_squeue(order_, finished->output);
}

Result<void> SlurmLauncher::scancel(std::vector<std::string> options, plan::JobId const& job) const
{
    options.insert(options.begin(), "scancel");
    options.push_back(job.value);
    auto const what = "cannot signal job " + job.value;
    auto const finished = run(std::move(options));
    if (!finished) return tl::unexpected(finished.error().within(what));
    if (finished->exit_code == 0) return {};
    if (contains(finished->errors, "Invalid job id") ||
        contains(finished->errors, "already completing or completed"))
        return {};
    return failed(*finished, what);
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
