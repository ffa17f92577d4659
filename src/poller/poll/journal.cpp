// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "poller/plan/lookup.hpp"

namespace curtail::poll {
namespace {

// Stored, in the order of plan::Outcome::Status.
constexpr char const* status_names[] = {"done", "refused", "unknown"};

json::Object to_json(JournalEntry const& entry)
{
    json::Object line{{"number", entry.number},
                      {"time", format_time(entry.time)},
                      {"site", entry.site.value},
                      {"entry", entry.outcome ? "outcome" : "intent"},
                      {"action", plan::to_text(entry.action.type)},
                      {"job", entry.action.job.value},
                      {"window", entry.action.window.value},
                      {"intent", entry.action.intent.value},
                      {"why", entry.action.why}};
    if (entry.outcome) {
        line.set("outcome", status_names[static_cast<int>(entry.outcome->status)]);
        line.set("submitted", entry.outcome->job.value).set("trouble", entry.outcome->why);
    }
    return line;
}

plan::Outcome read_outcome(json::ObjectReader& r)
{
    plan::Outcome outcome;
    outcome.status = static_cast<plan::Outcome::Status>(
        r.one_of("outcome", {status_names[0], status_names[1], status_names[2]}));
    outcome.job = {r.text("submitted")};
    outcome.why = r.text("trouble");
    return outcome;
}

std::optional<JournalEntry> parse(std::string_view text)
{
    auto const value = json::parse(text, "journal", json::Dialect::strict, json::record_limits);
    if (!value) return std::nullopt;
    json::ObjectReader r(*value, "journal");
    JournalEntry entry;
    entry.number = r.integer("number");
    auto const time = parse_time(r.text("time"));
    entry.site = {r.text("site")};
    bool const is_outcome = r.text("entry") == "outcome";
    auto const type = plan::parse_action_type(r.text("action"));
    entry.action.job = {r.text("job")};
    entry.action.window = {r.text("window")};
    entry.action.intent = {r.text("intent")};
    entry.action.why = r.text("why");
    if (is_outcome) entry.outcome = read_outcome(r);
    if (r.finish() || !time || !type) return std::nullopt;
    entry.time = *time;
    entry.action.type = *type;
    return entry;
}

// Returns whether an entry says that the poller submitted a job.
bool is_submission_of(JournalEntry const& entry, plan::Submission const& job)
{
    if (entry.action.type != plan::ActionType::submit) return false;
    bool const is_same = !job.intent.value.empty() && entry.action.intent == job.intent;
    return is_same || (entry.outcome && entry.outcome->job == job.id);
}

// Returns whether an entry says that the poller stopped a job.
bool is_stop_of(JournalEntry const& entry, plan::Submission const& job)
{
    using Type = plan::ActionType;
    auto const type = entry.action.type;
    return entry.action.job == job.id &&
           (type == Type::drain || type == Type::cancel || type == Type::cancel_pending);
}

}  // namespace

Result<std::vector<JournalEntry>> Journal::read(std::int64_t after) const
{
    auto const content = read_file_if_exists(path_);
    if (!content) return tl::unexpected(content.error());
    std::vector<JournalEntry> entries;
    if (!*content) return entries;
    for (auto line : split(**content, '\n'))
        if (auto entry = parse(line); entry && entry->number > after)
            entries.push_back(std::move(*entry));
    return entries;
}

Result<void> Journal::append(JournalEntry const& entry) const
{
    return append_line(path_, json::to_string(to_json(entry)), true);
}

void Journal::reserve_space() const
{
    constexpr off_t bytes{1 << 16};
    Fd const fd(open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    (void)!fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, status.st_size, bytes);
}

Result<void> Journal::rotate(std::int64_t next_number, std::int64_t longest) const
{
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    if (error || static_cast<std::int64_t>(size) <= longest) return {};
    auto rotated = path_;
    rotated.replace_extension("." + std::to_string(next_number) + ".jsonl");
    std::filesystem::rename(path_, rotated, error);
    if (error)
        return fail(ExitCode::io, "cannot rename " + path_.string() + " to " + rotated.string(),
                    error.message());
    return {};
}

std::filesystem::path Journal::newest_rotated() const
{
    auto const begin = path_.stem().string() + ".";
    std::pair<std::int64_t, std::filesystem::path> newest;
    std::error_code error;
    for (std::filesystem::directory_iterator it(path_.parent_path(), error), end;
         !error && it != end; it.increment(error)) {
        auto const name = it->path().stem().string();
        bool const fits = it->path().extension() == path_.extension() && name.starts_with(begin);
        auto const number =
            fits ? parse_number<std::int64_t>(std::string_view(name).substr(begin.size()))
                 : std::nullopt;
        if (number && *number > newest.first) newest = {*number, it->path()};
    }
    return newest.second;
}

bool Journal::has_stopped(plan::Submission const& job) const
{
    auto const submitted = job.submitted ? job.submitted : plan::time_of(job.intent);
    bool is_known = false;  // the submission has an entry: entries after it need no clock
    bool has_stopped = false;
    auto const take = [&](JournalEntry const& entry) {
        if (is_submission_of(entry, job)) {
            is_known = job.intent.value.empty() || entry.action.intent == job.intent;
            has_stopped = false;
        }
        bool const is_later = is_known || !submitted || entry.time >= *submitted;
        has_stopped = has_stopped || (is_later && is_stop_of(entry, job));
    };
    for (auto const& file : {newest_rotated(), path_})
        if (auto const entries = Journal(file).read(0)) std::ranges::for_each(*entries, take);
    return has_stopped;
}

}  // namespace curtail::poll
