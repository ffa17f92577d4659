// SPDX-License-Identifier: Apache-2.0
#include "runlog/event.hpp"

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::runlog {
namespace {

std::optional<Event> parse_event(std::string_view line)
{
    auto const value = json::parse(line, "event");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    Event event{{}, {}, {}, *object};
    auto const time = event.time_of("time");
    auto const* type = object->find("type");
    if (!time || type == nullptr || type->as_text() == nullptr) return std::nullopt;
    event.time = *time;
    event.type = *type->as_text();
    auto const* site = object->find("site");
    if (site != nullptr && site->as_text() != nullptr) event.site = *site->as_text();
    for (char const* key : {"time", "type", "site"}) event.details.erase(key);
    return event;
}

}  // namespace

std::string Event::text(char const* key) const
{
    auto const* value = details.find(key);
    if (value == nullptr || value->is_null()) return "";
    return value->as_text() != nullptr ? *value->as_text() : json::to_string(*value);
}

std::optional<std::int64_t> Event::integer(char const* key) const
{
    auto const* value = details.find(key);
    if (value == nullptr || value->as_integer() == nullptr) return std::nullopt;
    return *value->as_integer();
}

std::optional<double> Event::number(char const* key) const
{
    auto const* value = details.find(key);
    return value != nullptr ? value->as_number() : std::nullopt;
}

std::optional<Time> Event::time_of(char const* key) const
{
    auto const* value = details.find(key);
    if (value == nullptr || value->as_text() == nullptr) return std::nullopt;
    auto const parsed = parse_time(*value->as_text());
    return parsed ? std::optional(*parsed) : std::nullopt;
}

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

}  // namespace curtail::runlog
