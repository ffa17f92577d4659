// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/journal.hpp"

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"

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

Result<void> Journal::rotate(std::int64_t longest) const
{
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    if (error || static_cast<std::int64_t>(size) <= longest) return {};
    auto rotated = path_;
    std::filesystem::rename(path_, rotated.replace_extension(".1.jsonl"), error);
    if (error)
        return fail(ExitCode::io, "cannot rename " + path_.string() + " to " + rotated.string(),
                    error.message());
    return {};
}

}  // namespace curtail::poll
