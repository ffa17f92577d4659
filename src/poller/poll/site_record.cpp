// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/site_record.hpp"

#include <algorithm>

namespace curtail::poll {
namespace {

// Stored, in the order of plan::HoldRequest::Cause.
constexpr char const* cause_names[] = {"failures", "cancel"};

json::Object to_json(AutomaticHold const& hold)
{
    return {{"cause", to_text(hold.request.cause)},
            {"why", hold.request.why},
            {"since", format_time(hold.since)},
            {"signal_time", format_time(hold.signal_time)}};
}

AutomaticHold read_hold(json::ObjectReader& r)
{
    AutomaticHold hold;
    hold.request.cause =
        static_cast<plan::HoldRequest::Cause>(r.one_of("cause", {cause_names[0], cause_names[1]}));
    hold.request.why = r.text("why");
    hold.since = r.optional_time("since").value_or(Time{});
    hold.signal_time = r.optional_time("signal_time").value_or(Time{});
    return hold;
}

json::Object to_json(std::map<std::string, Time> const& times)
{
    json::Object object;
    for (auto const& [name, time] : times) object.set(name, format_time(time));
    return object;
}

std::map<std::string, Time> read_written(json::Value const& value, json::ObjectReader& r)
{
    std::map<std::string, Time> times;
    auto const* object = value.as_object();
    r.require(object != nullptr, "written_until", "must be an object");
    if (object == nullptr) return times;
    for (auto const& member : object->members()) {
        auto const time = object->time_at(member.first);
        r.require(time.has_value(), "written_until", "must contain times");
        if (time) times[member.first] = *time;
    }
    return times;
}

WindowRecord read_window(json::ObjectReader& r)
{
    WindowRecord window;
    r.object("window",
             [&](json::ObjectReader& o) { window.state = windows::read_window_state(o); });
    window.evaluated_until = r.optional_time("evaluated_until");
    window.polled = r.optional_time("polled");
    if (auto const open = r.optional_text("open_window")) {
        r.require(parse_time(*open).has_value(), "open_window", "must be a time");
        window.open = WindowId{*open};
    }
    window.last_above = r.optional_time("last_above");
    window.above_before_open = r.optional_time("above_before_open");
    auto const warned_s = std::clamp(r.optional_number("warned_period_s").value_or(0), 0.0, 1e9);
    window.warned_period = std::chrono::round<Millis>(FractionalSeconds(warned_s));
    return window;
}

}  // namespace

char const* to_text(plan::HoldRequest::Cause cause)
{
    return cause_names[static_cast<std::size_t>(cause)];
}

std::optional<plan::HoldRequest::Cause> parse_cause(std::string_view text)
{
    for (auto const cause : {plan::HoldRequest::Cause::failures, plan::HoldRequest::Cause::cancel})
        if (text == to_text(cause)) return cause;
    return std::nullopt;
}

json::Object to_json(SiteRecord const& site)
{
    auto const& window = site.window;
    json::Object object{{"window", windows::to_json(window.state)},
                        {"evaluated_until", json::time_or_null(window.evaluated_until)},
                        {"polled", json::time_or_null(window.polled)},
                        {"open_window", json::value_or_null(window.open)},
                        {"last_above", json::time_or_null(window.last_above)},
                        {"above_before_open", json::time_or_null(window.above_before_open)},
                        {"jobs", plan::to_json(site.jobs)}};
    if (site.holds.automatic) object.set("hold", to_json(*site.holds.automatic));
    object.set("decision", site.holds.applied_serial);
    if (!site.holds.operators.empty()) object.set("operators", site.holds.operators);
    if (window.warned_period > Millis{0})
        object.set("warned_period_s", FractionalSeconds(window.warned_period).count());
    if (!site.configuration.empty()) object.set("configuration", site.configuration);
    if (site.accounted) object.set("accounted", format_time(*site.accounted));
    if (site.accounted_at_end) object.set("accounted_at_end", true);
    if (!site.written_until.empty()) object.set("written_until", to_json(site.written_until));
    return object;
}

SiteRecord read_site_record(json::ObjectReader& r, std::string const& where)
{
    SiteRecord site;
    site.window = read_window(r);
    if (auto const* jobs = r.any("jobs", true)) {
        auto const read = plan::read_site_state(*jobs, where);
        if (read) site.jobs = *read;
        else r.reject(read.error());
    }
    r.object(
        "hold", [&](json::ObjectReader& o) { site.holds.automatic = read_hold(o); }, false);
    site.holds.applied_serial = r.integer("decision", 0);
    site.holds.operators = r.text("operators", "");
    site.configuration = r.text("configuration", "");
    site.accounted = r.optional_time("accounted");
    site.accounted_at_end = r.boolean("accounted_at_end", false);
    if (auto const* written = r.any("written_until"))
        site.written_until = read_written(*written, r);
    return site;
}

}  // namespace curtail::poll
