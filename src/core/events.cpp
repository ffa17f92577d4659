// SPDX-License-Identifier: Apache-2.0
#include "core/events.hpp"

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail {
namespace {

std::string const* text_member(json::Object const& object, std::string_view key)
{
    auto const* value = object.find(key);
    return value != nullptr ? value->as_text() : nullptr;
}

std::optional<Event> parse_event(std::string_view line)
{
    auto const value = json::parse(line, "event");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    auto const* type = text_member(*object, "type");
    auto const* site = text_member(*object, "site");
    auto const* time_text = text_member(*object, "time");
    if (type == nullptr || time_text == nullptr) return std::nullopt;
    auto const time = parse_time(*time_text);
    if (!time) return std::nullopt;
    Event event{*time, *type, site != nullptr ? *site : "", *object};
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
    auto const content = read_file_if_exists(path);
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
