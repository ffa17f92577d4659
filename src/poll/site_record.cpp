// SPDX-License-Identifier: Apache-2.0
#include "poll/site_record.hpp"

namespace curtail::poll {

json::Object to_json(SiteRecord const& site)
{
    auto const& window = site.window;
    json::Value until;
    if (window.evaluated_until) until = format_time(*window.evaluated_until);
    json::Value open;
    if (window.open) open = window.open->value;
    return {{"window", windows::to_json(window.state)},
            {"evaluated_until", until},
            {"open_window", open},
            {"jobs", plan::to_json(site.jobs)}};
}

SiteRecord read_site_record(json::ObjectReader& r, std::string const& where)
{
    SiteRecord site;
    auto& window = site.window;
    r.object("window",
             [&](json::ObjectReader& o) { window.state = windows::read_window_state(o); });
    if (auto const text = r.optional_text("evaluated_until")) {
        auto const time = parse_time(*text);
        r.require(time.has_value(), "evaluated_until", "must be a time");
        if (time) window.evaluated_until = *time;
    }
    if (auto const open = r.optional_text("open_window")) window.open = WindowId{*open};
    if (auto const* jobs = r.any("jobs", true)) {
        auto const read = plan::read_site_state(*jobs, where);
        if (read) site.jobs = *read;
        else r.reject(read.error());
    }
    return site;
}

}  // namespace curtail::poll
