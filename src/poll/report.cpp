// SPDX-License-Identifier: Apache-2.0
#include "poll/report.hpp"

#include <fmt/format.h>

#include "windows/detector.hpp"

namespace curtail::poll {
namespace {

std::string signal_text(SiteReport const& site)
{
    if (!site.asked) return "not asked for";
    if (!site.sample_time) return "no signal";
    auto const age = format_duration(site.signal_time - *site.sample_time);
    if (site.sample_is_empty)
        return fmt::format("no signal ({} said {} ago that it has no value)", site.provider, age);
    if (!site.intensity)
        return fmt::format("no fresh signal (the last sample of {} is {} old)", site.provider, age);
    return fmt::format("{:.1f} gCO2/kWh, {} old, of {}", site.intensity->value, age, site.provider);
}

}  // namespace

std::string explain(std::vector<SiteReport> const& sites, bool dry)
{
    std::string text;
    for (auto const& site : sites) {
        text += fmt::format("{} ({})\n  signal  {}\n  window  {}{}: {}\n", site.site.value,
                            format_time(site.signal_time), signal_text(site),
                            windows::to_string(site.phase),
                            site.window ? " since " + site.window->value : "", site.why);
        for (auto const& job : site.jobs)
            text += fmt::format("  job     {} {}{}\n", job.id.value, job.word,
                                job.reason.empty() ? "" : " (" + job.reason + ")");
        if (site.jobs.empty() && !site.job_trouble) text += "  job     none\n";
        for (auto const& trouble : site.troubles()) text += "  trouble " + trouble.message() + "\n";
        if (!site.job_warning.empty()) text += "  trouble " + site.job_warning + "\n";
        for (auto const& action : site.actions) {
            bool const names_job =
                action.kind != plan::Action::Kind::wait && !action.job.value.empty();
            text += fmt::format("  {} {}{}: {}\n", dry ? "would  " : "action ",
                                plan::to_text(action.kind),
                                names_job ? " job " + action.job.value : "", action.why);
        }
    }
    return text;
}

json::Value to_json(std::vector<SiteReport> const& sites)
{
    json::Array list;
    for (auto const& site : sites) {
        json::Array jobs;
        for (auto const& job : site.jobs)
            jobs.push_back(json::Object{{"job", job.id.value},
                                        {"state", job.word},
                                        {"reason", job.reason},
                                        {"window", job.window.value}});
        json::Array actions;
        for (auto const& action : site.actions)
            actions.push_back(json::Object{{"action", plan::to_text(action.kind)},
                                           {"job", action.job.value},
                                           {"window", action.window.value},
                                           {"why", action.why}});
        json::Array trouble;
        for (auto const& one : site.troubles()) trouble.push_back(one.message());
        if (!site.job_warning.empty()) trouble.push_back(site.job_warning);
        json::Object object{{"site", site.site.value},
                            {"region", site.region.value},
                            {"signal_time", format_time(site.signal_time)}};
        object.set("intensity_gco2_per_kwh",
                   site.intensity ? json::Value(site.intensity->value) : json::Value());
        object.set("age_s", site.sample_time
                                ? json::Value(seconds_between(*site.sample_time, site.signal_time))
                                : json::Value());
        object.set("provider", site.provider).set("phase", windows::to_string(site.phase));
        object.set("window", site.window ? json::Value(site.window->value) : json::Value())
            .set("why", site.why);
        object.set("jobs", std::move(jobs))
            .set("actions", std::move(actions))
            .set("trouble", std::move(trouble));
        list.push_back(std::move(object));
    }
    return json::Object{{"sites", std::move(list)}};
}

}  // namespace curtail::poll
