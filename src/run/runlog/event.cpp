// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/event.hpp"

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::runlog {
namespace {

std::optional<Event> parse_event(std::string_view line)
{
    auto const value = json::parse(line, "event");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    Event event{.details = *object};
    auto const time = object->time_at("time");
    auto const* type = object->find("type");
    if (!time || type == nullptr || type->as_text() == nullptr) return std::nullopt;
    event.time = *time;
    event.type = *type->as_text();
    event.site = object->text_at("site");
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
    return details.integer_at(key);
}

std::optional<double> Event::number(char const* key) const { return details.number_at(key); }

std::optional<Time> Event::time_of(char const* key) const { return details.time_at(key); }

Result<void> EventLog::append(Event const& event) const
{
    json::Object line{{"time", format_time(event.time)}, {"type", event.type}};
    if (!event.site.empty()) line.set("site", event.site);
    for (auto const& [key, value] : event.details.members()) line.set(key, value);
    return append_line(path_, json::to_string(line), false);
}

EventFile parse_events(std::string_view text)
{
    EventFile file;
    file.broken_lines = read_lines(text, [&](std::string_view line) -> std::optional<Time> {
        auto parsed = parse_event(line);
        if (!parsed) return std::nullopt;
        return file.events.emplace_back(std::move(*parsed)).time;
    });
    return file;
}

Result<EventFile> read_events(std::filesystem::path const& path)
{
    auto const content = read_file_if_exists(path);
    if (!content) return tl::unexpected(content.error());
    return parse_events(*content ? std::string_view(**content) : std::string_view());
}

}  // namespace curtail::runlog
