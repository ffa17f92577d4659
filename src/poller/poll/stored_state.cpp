// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/stored_state.hpp"

#include "base/core/files.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

constexpr std::int64_t format = 1;

json::Object to_json(NumberedEvent const& numbered)
{
    auto const& event = numbered.event;
    return {{"number", numbered.number},
            {"time", format_time(event.time)},
            {"type", event.type},
            {"site", event.site},
            {"details", event.details}};
}

NumberedEvent read_event(json::ObjectReader& r)
{
    auto const time = parse_time(r.text("time"));
    r.require(time.has_value(), "time", "must be a time");
    NumberedEvent numbered{r.integer("number"),
                           {time.value_or(Time{}), r.text("type"), r.text("site"), {}}};
    auto const* details = r.any("details", true);
    if (details != nullptr && details->as_object() != nullptr)
        numbered.event.details = *details->as_object();
    return numbered;
}

// Appends the entries after number `after` of one journal file.
Result<void> read_journal(std::filesystem::path const& path, std::int64_t after,
                          std::vector<JournalEntry>& into)
{
    auto const entries = Journal(path).read(after);
    if (!entries) return tl::unexpected(entries.error());
    into.insert(into.end(), entries->begin(), entries->end());
    return {};
}

// The events of all sites.
Result<std::vector<runlog::Event>> read_all_events(std::filesystem::path const& folder)
{
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (auto const& site : std::filesystem::directory_iterator(folder / "sites", error))
        files.push_back(site.path() / "events.jsonl");
    std::vector<runlog::Event> all;
    for (auto const& file : files) {
        auto const events = runlog::read_events(file);
        if (!events) return tl::unexpected(events.error());
        all.insert(all.end(), events->events.begin(), events->events.end());
    }
    return all;
}

}  // namespace

void StoredState::add_events(SiteId const& site, std::vector<runlog::Event> events)
{
    for (auto& event : events) {
        event.site = site.value;
        runlog::set_number(event, ++last_event);
        outbox.push_back({last_event, std::move(event)});
    }
}

json::Value to_json(StoredState const& state)
{
    json::Array sites;
    for (auto const& [site, record] : state.sites) {
        auto object = to_json(record);
        object.set("site", site.value);
        sites.push_back(std::move(object));
    }
    json::Array outbox;
    for (auto const& event : state.outbox) outbox.push_back(to_json(event));
    json::Object object{{"format", format},
                        {"last_entry", state.last_entry},
                        {"last_event", state.last_event},
                        {"sites", std::move(sites)},
                        {"outbox", std::move(outbox)}};
    if (!state.folder_warning.empty()) object.set("folder_warning", state.folder_warning);
    return object;
}

Result<std::optional<StoredState>> read_state(std::filesystem::path const& path)
{
    auto const text = read_file_if_exists(path, json::document_limits.bytes);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::optional<StoredState>{};
    auto const remedy =
        "move " + path.string() + " away: the poller finds running jobs again by their names";
    auto const value = json::parse(**text, path.string());
    if (!value) return fail(value.error().code, value.error().what, value.error().why, remedy);
    json::ObjectReader r(*value, path.string());
    r.require(r.integer("format") == format, "format", "must be " + std::to_string(format));
    StoredState state;
    state.last_entry = r.integer("last_entry");
    state.last_event = r.integer("last_event");
    r.each("sites", [&](json::ObjectReader& o) {
        SiteId const site{o.text("site")};
        state.sites[site] = read_site_record(o, path.string());
    });
    r.each("outbox", [&](json::ObjectReader& o) { state.outbox.push_back(read_event(o)); });
    state.folder_warning = r.optional_text("folder_warning").value_or("");
    if (auto error = r.finish()) {
        error->remedy = remedy;
        return tl::unexpected(*error);
    }
    return std::optional(std::move(state));
}

Result<FolderContents> read_folder(std::filesystem::path const& folder)
{
    FolderContents contents;
    auto state = read_state(folder / "state.json");
    if (!state) return tl::unexpected(state.error());
    contents.state = std::move(*state);
    if (!contents.state)
        if (auto read = read_journal(Journal(folder / "journal.jsonl").newest_rotated(), 0,
                                     contents.journal);
            !read)
            return tl::unexpected(read.error());
    auto const after = contents.state ? contents.state->last_entry : 0;
    if (auto read = read_journal(folder / "journal.jsonl", after, contents.journal); !read)
        return tl::unexpected(read.error());
    if (contents.state && contents.state->outbox.empty() && contents.journal.empty())
        return contents;
    auto events = read_all_events(folder);
    if (!events) return tl::unexpected(events.error());
    contents.events = std::move(*events);
    return contents;
}

}  // namespace curtail::poll
