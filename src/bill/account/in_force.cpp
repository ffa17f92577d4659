// SPDX-License-Identifier: Apache-2.0
#include "bill/account/in_force.hpp"

#include <algorithm>
#include <tuple>

#include "base/core/text.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::account {
namespace {

// The events `configuration` of a site, in order of time.
std::vector<std::pair<Time, runlog::Configuration>> configurations(
    std::vector<runlog::Event> const& events, SiteId const& site)
{
    std::vector<std::pair<Time, runlog::Configuration>> found;
    for (auto const& event : events) {
        if (event.site != site.value) continue;
        auto logged = runlog::configuration_in(event);
        if (logged && !logged->files.empty()) found.emplace_back(event.time, std::move(*logged));
    }
    std::ranges::stable_sort(found, {}, &std::pair<Time, runlog::Configuration>::first);
    return found;
}

}  // namespace

config::Site const& LoggedSettings::at(Time time) const
{
    auto const after = std::ranges::upper_bound(all, time, {}, &SettingsInForce::from);
    return after == all.begin() ? after->site : std::prev(after)->site;
}

LoggedSettings logged_settings(config::Site const& present,
                               std::vector<runlog::Event> const& poller,
                               std::vector<runlog::Event> const& own)
{
    LoggedSettings settings;
    auto logged = configurations(poller, present.site);
    if (logged.empty()) logged = configurations(own, present.site);
    for (auto const& [time, configuration] : logged) {
        auto const& file = configuration.files.back();
        auto site = config::parse_site(file.text, file.name);
        if (!site || site->site != present.site) {
            settings.problem = printable(file.name) + " as logged at " + format_time(time) + ": " +
                               (site ? "it is the file of another site" : site.error().message());
            continue;
        }
        settings.is_logged = true;
        settings.logged = time;
        settings.file = printable(file.name);
        settings.run_file = configuration.files.front().text;
        auto& all = settings.all;
        if (!all.empty() && differences(all.back().site, *site).empty()) {
            all.back().site = std::move(*site);  // what the bill does not depend on may differ
            continue;
        }
        all.push_back({all.empty() ? Time::min() : time, std::move(*site)});
    }
    if (settings.all.empty()) settings.all.push_back({Time::min(), present});
    return settings;
}

std::string differences(config::Site const& a, config::Site const& b)
{
    std::string text;
    auto const add = [&](bool differs, char const* name) {
        if (differs) text += (text.empty() ? "" : ", ") + std::string(name);
    };
    auto const levels = [](config::Site const& s) {
        auto const power = s.power.value_or(energy::Power{});
        return std::tuple(s.power.has_value(), power.idle.value, power.training.value);
    };
    auto const pue = [](config::Site const& s) { return s.power.value_or(energy::Power{}).pue; };
    add(a.region != b.region, "region");
    add(levels(a) != levels(b), "power");
    add(pue(a) != pue(b) || a.later_pues != b.later_pues, "PUE");
    add(a.between_jobs != b.between_jobs, "between_jobs");
    add(a.meter != b.meter, "meter");
    add(a.window.open_below != b.window.open_below, "open_below_gco2_per_kwh");
    add(a.signal_max_age != b.signal_max_age, "signal_max_age_s");
    add(a.embodied_gco2_per_hour != b.embodied_gco2_per_hour, "embodied_gco2_per_hour");
    return text;
}

}  // namespace curtail::account
