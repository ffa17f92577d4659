// SPDX-License-Identifier: Apache-2.0
#include "poll/journal.hpp"

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::poll {
namespace {

constexpr char const* outcome_words[] = {"done", "refused", "unknown"};

json::Object to_json(Entry const& entry)
{
    json::Object line{{"number", entry.number},
                      {"time", format_time(entry.time)},
                      {"site", entry.site.value},
                      {"entry", entry.outcome ? "outcome" : "intent"},
                      {"action", plan::to_text(entry.action.kind)},
                      {"job", entry.action.job.value},
                      {"window", entry.action.window.value},
                      {"intent", entry.action.intent.value},
                      {"why", entry.action.why}};
    if (entry.outcome) {
        line.set("outcome", outcome_words[static_cast<int>(entry.outcome->kind)]);
        line.set("submitted", entry.outcome->job.value).set("trouble", entry.outcome->why);
    }
    return line;
}

std::optional<Entry> parse(std::string_view text)
{
    auto const value = json::parse(text, "journal", json::Dialect::strict, json::record_limits);
    if (!value) return std::nullopt;
    json::ObjectReader r(*value, "journal");
    Entry entry;
    entry.number = r.integer("number");
    auto const time = parse_time(r.text("time"));
    entry.site = {r.text("site")};
    bool const is_outcome = r.text("entry") == "outcome";
    auto const kind = plan::action_kind(r.text("action"));
    entry.action = {kind.value_or(plan::Action::Kind::wait),
                    {r.text("job")},
                    {r.text("window")},
                    {r.text("intent")},
                    r.text("why")};
    if (is_outcome) {
        plan::Outcome outcome;
        outcome.kind = static_cast<plan::Outcome::Kind>(
            r.one_of("outcome", {outcome_words[0], outcome_words[1], outcome_words[2]}));
        outcome.job = {r.text("submitted")};
        outcome.why = r.text("trouble");
        entry.outcome = std::move(outcome);
    }
    if (r.finish() || !time || !kind) return std::nullopt;
    entry.time = *time;
    return entry;
}

}  // namespace

Result<std::vector<Entry>> Journal::read(std::int64_t after) const
{
    auto const content = read_file_if_exists(path_);
    if (!content) return tl::unexpected(content.error());
    std::vector<Entry> entries;
    if (!*content) return entries;
    for (auto line : split(**content, '\n'))
        if (auto entry = parse(line); entry && entry->number > after)
            entries.push_back(std::move(*entry));
    return entries;
}

Result<void> Journal::append(Entry const& entry) const
{
    return append_line(path_, json::to_string(to_json(entry)), true);
}

Result<void> Journal::rotate(std::int64_t longest) const
{
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    if (error || static_cast<std::int64_t>(size) <= longest) return {};
    auto aside = path_;
    std::filesystem::rename(path_, aside.replace_extension(".1.jsonl"), error);
    if (error)
        return fail(ExitCode::io, "cannot put " + path_.string() + " aside", error.message());
    return {};
}

}  // namespace curtail::poll
