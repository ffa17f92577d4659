// SPDX-License-Identifier: Apache-2.0
#include "core/events.hpp"

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail {
namespace {

std::optional<Event> parse_event(std::string_view line)
{
    auto const value = json::parse(line, "event");
    auto const* object = value ? value->as_object() : nullptr;
    auto const* time = object ? object->find("time") : nullptr;
    auto const* type = object ? object->find("type") : nullptr;
    auto const* site = object ? object->find("site") : nullptr;
    if (time == nullptr || type == nullptr || !time->as_text() || !type->as_text())
        return std::nullopt;
    auto const moment = parse_time(*time->as_text());
    if (!moment) return std::nullopt;
    Event event{*moment, *type->as_text(), site && site->as_text() ? *site->as_text() : "",
                *object};
    for (char const* key : {"time", "type", "site"}) event.details.erase(key);
    return event;
}

}  // namespace

Result<void> EventLog::append(Event const& event) const
{
    json::Object line{{"time", format_time(event.time)}, {"type", event.type}};
    if (!event.site.empty()) line.set("site", event.site);
    for (auto const& [key, value] : event.details.members()) line.set(key, value);
    return append_line(path_, json::to_string(line), false);
}

Result<EventFile> read_events(std::filesystem::path const& path)
{
    auto const content = read_file_if_there(path);
    if (!content) return tl::unexpected(content.error());
    EventFile file;
    if (!*content) return file;
    for (auto line : split(**content, '\n')) {
        if (trim(line).empty()) continue;
        if (auto event = parse_event(line)) file.events.push_back(std::move(*event));
        else ++file.broken_lines;
    }
    return file;
}

}  // namespace curtail
