// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bill/account/parts.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::account {
namespace {

using runlog::JobChange;

EventLine line_of(Event const& event, std::string const& site, Axis const& axis)
{
    // The round has its own column; nested objects are left out, and what only the account needs.
    std::string details;
    for (auto const& [key, value] : event.details.members()) {
        bool const is_internal = key == "monotonic_s" || key == "jobs" || key == "files";
        if (key == "round" || is_internal || value.as_object() != nullptr) continue;
        auto const* text = value.as_text();
        details += (details.empty() ? "" : ", ") + key + " " +
                   (text != nullptr ? *text : json::to_string(value));
    }
    return {axis.at(event.time), event.type, event.integer("round"), site, details};
}

// A replay has reached the end of its trace.
bool is_over(RunFiles const& files, Timeline const& timeline)
{
    if (!files.clock || !files.trace_from_file) return false;
    auto const until = files.evaluated_until.value_or(timeline.axis.signal(timeline.end));
    return std::all_of(files.trace.begin(), files.trace.end(), [&](RegionSeries const& s) {
        return s.points.empty() || s.points.back().time <= until;
    });
}

// The poller stopped the window's last job although the window had not closed.
bool was_stopped(WindowTimeline const& window, RunFiles const& files)
{
    bool stopped = false;
    for (auto const& event : files.poller_events) {
        if (event.site != files.run.sites[window.site].site.value) continue;
        auto const change = runlog::job_change_in(event);
        if (!change || change->window != window.id) continue;
        if (change->type == JobChange::Type::submitted) stopped = false;
        stopped = stopped || runlog::is_stop(change->type);
    }
    return stopped;
}

// Returns the status of a run with windows that are still open. The text is empty if none is.
std::string open_status(RunFiles const& files, std::vector<WindowTimeline> const& windows)
{
    auto const is_open = [](WindowTimeline const& w) { return !w.close_s; };
    if (std::none_of(windows.begin(), windows.end(), is_open)) return "";
    bool const stopped =
        std::any_of(windows.begin(), windows.end(), [&](WindowTimeline const& window) {
            return is_open(window) && was_stopped(window, files);
        });
    return stopped ? "stopped" : "waiting for devices";
}

}  // namespace

std::string status_of(RunFiles const& files, Timeline const& timeline)
{
    if (!files.commits.empty() && files.commits.back().run_complete) return "complete";
    if (timeline.running) return "running";
    if (is_over(files, timeline)) return "finished";
    if (auto status = open_status(files, timeline.windows); !status.empty()) return status;
    bool const begun = !timeline.windows.empty() || !files.commits.empty();
    return begun ? "resting" : "waiting for a window";
}

std::vector<EventLine> events_of(RunFiles const& files, Axis const& axis)
{
    std::vector<EventLine> out;
    for (auto const& event : files.poller_events) out.push_back(line_of(event, event.site, axis));
    for (std::size_t s = 0; s < files.sites.size(); ++s)
        for (auto const& event : files.sites[s].events)
            out.push_back(line_of(event, files.run.sites[s].site.value, axis));
    std::stable_sort(out.begin(), out.end(),
                     [](EventLine const& a, EventLine const& b) { return a.at_s < b.at_s; });
    return out;
}

}  // namespace curtail::account
