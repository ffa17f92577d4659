// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/sacct.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/core/text.hpp"
#include "base/core/users.hpp"
#include "poller/launch/slurm_states.hpp"
#include "poller/plan/lookup.hpp"

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

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator)
{
    std::vector<std::string_view> parts;
    for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + separator.size());
    }
    parts.push_back(text);
    return parts;
}

using Fields = std::vector<std::string_view>;

// Returns the fields of a record. Returns nothing if the line is not a whole record: a separator
// must follow the last field, too.
std::optional<Fields> split_record(std::string_view line, std::string_view separator,
                                   std::size_t field_count)
{
    auto fields = split_at(line, separator);
    if (fields.size() != field_count + 1 || !trim(fields.back()).empty()) return std::nullopt;
    fields.pop_back();
    return fields;
}

// Returns whether a line without a separator is the beginning of a record, and no text of a
// wrapper: it begins with the number of a job, and nothing or a part of the separator follows.
bool is_cut(std::string_view line, std::string_view separator)
{
    auto const digits = std::min(line.find_first_not_of("0123456789"), line.size());
    return digits > 0 && separator.starts_with(line.substr(digits));
}

bool is_job(Fields const& fields)
{
    auto const number = fields[0].substr(0, fields[0].find_first_of("._+"));  // 7.batch, 7_1, 7+0
    return is_job_number(number) && is_state(fields[1].substr(0, fields[1].find(' '))) &&
           (fields[2].empty() || parse_exit_code(fields[2])) &&
           std::ranges::all_of(std::span(fields).subspan(3, 3),
                               [](std::string_view text) { return text.empty() || is_time(text); });
}

plan::Job to_job(Fields const& fields)
{
    plan::Job job;
    job.id = {std::string(fields[0])};
    // `CANCELLED by 1000`
    set_state(job, fields[1].substr(0, fields[1].find(' ')));
    constexpr std::string_view by = "CANCELLED by ";
    if (fields[1].starts_with(by))
        if (auto const user = parse_number<uid_t>(fields[1].substr(by.size())))
            job.cancelled_by = user_name(*user);
    job.exit_code = parse_exit_code(fields[2]);
    job.submitted = parse_seconds(fields[3]);
    job.started = parse_seconds(fields[4]);
    job.ended = parse_seconds(fields[5]);
    return job;
}

// Returns the fields of each job with the name `name`. `format` names the fields.
Result<std::vector<Fields>> parse_records(std::string_view text, Marks const& marks,
                                          std::string_view format, std::string_view name)
{
    auto const names = split(format, ',');
    bool has_header = false;
    std::vector<Fields> records;
    for (auto const line : split(text, '\n')) {
        bool const is_text = line.find(marks.separator) == std::string_view::npos;
        if (is_text && !is_cut(line, marks.separator)) continue;
        auto fields = split_record(line, marks.separator, names.size());
        if (!fields) return cannot_parse("sacct", "this is not a job", line);
        if (!std::exchange(has_header, true)) {
            if (fields->front() != names.front())
                return cannot_parse("sacct", "its header is missing", text);
            continue;
        }
        if (!is_job(*fields)) return cannot_parse("sacct", "this is not a job", line);
        if ((*fields)[6] == name) records.push_back(std::move(*fields));
    }
    if (!has_header) return cannot_parse("sacct", "its header is missing", text);
    return records;
}

// Energy in joules. Slurm prints 2^64 - 1 or 2^64 - 2 if it does not know it.
std::optional<double> energy_in(std::string_view text)
{
    constexpr double largest = 1e18;
    auto const joules = parse_number<double>(trim(text));
    return joules && *joules > 0 && *joules < largest ? joules : std::nullopt;
}

// Slurm prints whole seconds.
constexpr Millis same_moment{2'000};

bool is_submission_of(plan::Job const& job, MissingJob const& missing)
{
    // The clocks of the poller's machine and of the controller may differ.
    constexpr Seconds clock_tolerance{60};
    if (!job.submitted) return false;
    if (missing.job.submitted)
        return std::chrono::abs(*job.submitted - *missing.job.submitted) < same_moment;
    auto const decided = plan::time_of(missing.job.intent);
    return !decided || *job.submitted >= *decided - clock_tolerance;
}

// The difference between the zones of the record and of this machine.
std::optional<Millis> zone_of(plan::Job const& job, MissingJob const& missing)
{
    constexpr std::chrono::minutes quarter{15};
    constexpr std::chrono::hours largest{27};  // from UTC-12 to UTC+14, and daylight saving time
    if (!job.started || !missing.started) return std::nullopt;
    auto const difference = *job.started - *missing.started;
    Millis const zone =
        quarter * std::llround(FractionalSeconds(difference) / FractionalSeconds(quarter));
    bool const fits = std::chrono::abs(difference - zone) <= same_moment;
    return fits && std::chrono::abs(zone) <= largest ? std::optional(zone) : std::nullopt;
}

// A record without a proven zone. Its end must be possible in this machine's zone. After a quarter
// of an hour, it could as well be possible by chance: then the record tells how the job ended, but
// not when.
std::optional<plan::Job> match_unseen(plan::Job job, MissingJob const& missing)
{
    constexpr std::chrono::minutes quarter{15};
    auto const begin =
        missing.job.submitted ? missing.job.submitted : plan::time_of(missing.job.intent);
    bool const is_possible = begin && job.ended && *job.ended + same_moment >= *begin &&
                             *job.ended <= missing.now + same_moment;
    if (!is_possible) return std::nullopt;
    correct_unstarted(job);
    if (missing.now - *begin < quarter) return job;
    job.started.reset();
    job.ended.reset();
    return job;
}

std::optional<plan::Job> match_completion(plan::Job job, MissingJob const& missing)
{
    job.submitted = missing.job.submitted;  // the log has none
    if (!missing.started) return match_unseen(std::move(job), missing);
    auto const zone = zone_of(job, missing);
    if (!zone) return std::nullopt;
    for (auto* time : {&job.started, &job.ended})
        if (*time) **time -= *zone;
    correct_unstarted(job);
    return job;
}

// Returns the job of the record, with times of this machine's zone, if it is the missing one.
std::optional<plan::Job> match(plan::Job job, SacctSource source, MissingJob const& missing)
{
    if (job.id != missing.job.id || job.state != plan::Job::State::ended) return std::nullopt;
    if (source == SacctSource::completion_log) return match_completion(std::move(job), missing);
    if (!is_submission_of(job, missing)) return std::nullopt;
    correct_unstarted(job);
    return job;
}

bool is_later(plan::Job const& a, plan::Job const& b)
{
    return std::pair(a.submitted, a.ended) > std::pair(b.submitted, b.ended);
}

}  // namespace

char const* const sacct_format = "JobID,State,ExitCode,Submit,Start,End,JobName";
// With the raw number of a job, which is that of its environment, too.
char const* const accounts_format =
    "JobIDRaw,State,ExitCode,Submit,Start,End,JobName,ElapsedRaw,ConsumedEnergyRaw";

bool means_no_accounting(std::string_view errors)
{
    // Of Slurm 22.05, and of earlier and later versions.
    static constexpr std::string_view signs[] = {
        "accounting storage is disabled", "job completion is disabled",
        "not running a supported accounting_storage", "unrecognized option '--completion'"};
    return std::ranges::any_of(
        signs, [&](auto sign) { return errors.find(sign) != std::string_view::npos; });
}

Result<std::vector<runlog::Accounting::Job>> parse_accounts(std::string_view text,
                                                            Marks const& marks,
                                                            std::string_view name)
{
    auto const records = parse_records(text, marks, accounts_format, name);
    if (!records) return tl::unexpected(records.error());
    std::vector<runlog::Accounting::Job> jobs;
    for (auto const& fields : *records) {
        auto const job = to_job(fields);
        auto& account = jobs.emplace_back(runlog::Accounting::Job{
            job.id.value, job.launcher_state, job.started, job.ended, {}, energy_in(fields[8])});
        if (auto const elapsed = parse_number<std::int64_t>(trim(fields[7])))
            account.elapsed = Seconds{*elapsed};
    }
    return jobs;
}

Result<std::optional<plan::Job>> find_in_sacct(std::string_view text, Marks const& marks,
                                               SacctSource source, MissingJob const& missing,
                                               std::string_view name)
{
    auto const records = parse_records(text, marks, sacct_format, name);
    if (!records) return tl::unexpected(records.error());
    std::optional<plan::Job> found;
    for (auto const& fields : *records) {
        auto job = match(to_job(fields), source, missing);
        if (job && (!found || is_later(*job, *found))) found = std::move(job);
    }
    return found;
}

}  // namespace curtail::launch
