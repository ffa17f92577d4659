// SPDX-License-Identifier: Apache-2.0
#include "account/timeline.hpp"

#include <algorithm>
#include <map>

namespace curtail::account {
namespace {

/// A moment of the signal's clock, as text or in milliseconds; the event's own if it names none.
double signal_seconds(Event const& event, Axis const& axis)
{
    auto const* value = event.details.find("signal_time");
    if (value != nullptr && value->as_integer() != nullptr)
        return axis.of_signal(from_unix_ms(*value->as_integer()));
    if (value != nullptr && value->as_text() != nullptr)
        if (auto const time = parse_time(*value->as_text())) return axis.of_signal(*time);
    return axis.at(event.time);
}

std::optional<std::size_t> site_index(RunFiles const& files, std::string const& site)
{
    for (std::size_t i = 0; i < files.run.sites.size(); ++i)
        if (files.run.sites[i].site.value == site) return i;
    return std::nullopt;
}

std::vector<Event> in_order(std::vector<Event> events)
{
    std::stable_sort(events.begin(), events.end(),
                     [](Event const& a, Event const& b) { return a.time < b.time; });
    return events;
}

void add_held(SiteStory& site, JobStory const& job, std::vector<StepMetrics> const& rows,
              Axis const& axis, Time run_end)
{
    for (auto const& [state, when] : states_of(job, rows, run_end)) {
        site.held_real.push_back({state, when});
        site.held.push_back({state, {axis.signal(when.from), axis.signal(when.to)}});
        site.states.push_back({energy::name(state), {axis.at(when.from), axis.at(when.to)}});
    }
}

std::vector<Decision> decisions_of(RunFiles const& files, std::vector<Event> const& poller,
                                   Axis const& axis)
{
    std::vector<Decision> out;
    for (auto const& event : poller) {
        auto const site = site_index(files, event.site);
        if (event.type != "decision" || !site) continue;
        auto const* intensity = event.details.find("intensity_gco2_per_kwh");
        out.push_back({*site, signal_seconds(event, axis), text_of(event, "from"),
                       text_of(event, "to"), text_of(event, "reason"),
                       intensity != nullptr ? intensity->as_number() : std::nullopt});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](Decision const& a, Decision const& b) { return a.at_s < b.at_s; });
    return out;
}

/// Windows of the poller's openings and closings. A poller that was killed may have told an opening
/// twice, or a decision or the next opening and no closing before it: then the window ended there.
std::vector<WindowStory> windows_of(RunFiles const& files, std::vector<Event> const& poller,
                                    Axis const& axis)
{
    std::vector<WindowStory> windows;
    for (auto const& event : poller) {
        auto const site = site_index(files, event.site);
        bool const opens = event.type == "window-open";
        bool const closes = event.type == "window-close" ||
                            (event.type == "decision" && text_of(event, "to") == "closed");
        if (!site || !(opens || closes)) continue;
        auto const id = text_of(event, "window");
        auto const same = [&](WindowStory const& w) {
            return w.site == *site && !id.empty() && w.id == id;
        };
        if (opens && std::any_of(windows.begin(), windows.end(), same)) continue;
        double const at_s = signal_seconds(event, axis);
        auto const last = std::find_if(windows.rbegin(), windows.rend(),
                                       [&](WindowStory const& w) { return w.site == *site; });
        if (last != windows.rend() && !last->close_s) {
            last->close_s = std::max(last->open_s, at_s);
            last->closed_at = event.time;
        }
        if (opens) windows.push_back({*site, id, at_s, {}, event.time, {}, {}, {}, {}, {}});
    }
    std::stable_sort(
        windows.begin(), windows.end(),
        [](WindowStory const& a, WindowStory const& b) { return a.open_s < b.open_s; });
    return windows;
}

/// Stretches between a decision to close and the next of the same site, inside the window.
void add_closing(WindowStory& window, std::vector<Decision> const& decisions, double end_s)
{
    double const close = window.close_s.value_or(end_s);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        auto const& d = decisions[i];
        if (d.site != window.site || d.to != "closing" || d.at_s < window.open_s || d.at_s > close)
            continue;
        double to = close;
        for (std::size_t k = i + 1; k < decisions.size(); ++k)
            if (decisions[k].site == d.site) {
                to = std::min(to, decisions[k].at_s);
                break;
            }
        if (to > d.at_s) window.closing.push_back({d.at_s, to});
    }
}

/// The real moment at which the site's next window opened; later than anything if there is none.
Time next_opening(std::vector<WindowStory> const& windows, WindowStory const& window)
{
    Time next = Time::max();
    for (auto const& w : windows)
        if (w.site == window.site && w.opened_at > window.opened_at)
            next = std::min(next, w.opened_at);
    return next;
}

void add_first_step(WindowStory& window, SiteFiles const& site, Time next)
{
    bool const logged = std::any_of(site.events.begin(), site.events.end(),
                                    [](Event const& e) { return e.type == "first-step"; });
    std::optional<Time> first;
    auto const see = [&](Time time) {
        if (time >= window.opened_at && time < next && (!first || time < *first)) first = time;
    };
    for (auto const& event : site.events)
        if (event.type == "first-step") see(event.time);
    if (!logged)
        for (auto const& row : site.metrics) see(row.time);
    window.first_step = first;
}

/// Waiting for devices: from the opening, or the end of the job before, to the first job of the
/// window.
void add_provision(SiteStory& site, WindowStory const& window, Time next, Axis const& axis)
{
    double from = window.open_s;
    for (auto const& job : site.jobs) {
        if (job.begin >= next) return;
        if (job.begin >= window.opened_at) {
            if (axis.at(job.begin) > from)
                site.states.push_back({"provision", {from, axis.at(job.begin)}});
            return;
        }
        if (job.end) from = std::max(from, axis.at(*job.end));
    }
}

/// Whether another site was in its rounds, training or exchanging, at some time from `from` to
/// `to`, real moments.
bool another_trains(RunStory const& story, std::size_t site, Time from, Time to)
{
    for (std::size_t s = 0; s < story.sites.size(); ++s)
        for (auto const& held : story.sites[s].held_real)
            if (s != site &&
                (held.state == energy::State::training || held.state == energy::State::exchange) &&
                held.when.from < to && from < held.when.to)
                return true;
    return false;
}

/// How long the window's start and its last stop took, and whether they shared the machine with
/// another site.
void add_edges(WindowStory& window, Time next, RunStory const& story)
{
    if (window.first_step)
        window.start =
            Edge{seconds_between(window.opened_at, *window.first_step),
                 another_trains(story, window.site, window.opened_at, *window.first_step)};
    for (auto const& job : story.sites[window.site].jobs)
        if (job.begin >= window.opened_at && job.begin < next && job.stop_requested && job.exit)
            window.stop = Edge{seconds_between(*job.stop_requested, *job.exit),
                               another_trains(story, window.site, *job.stop_requested, *job.exit)};
}

Time last_moment(RunFiles const& files)
{
    Time last = files.clock ? files.clock->real_origin : Time{};
    for (auto const& event : files.poller) last = std::max(last, event.time);
    for (auto const& site : files.sites) {
        for (auto const& event : site.events) last = std::max(last, event.time);
        for (auto const& row : site.metrics) last = std::max(last, row.time);
    }
    for (auto const& commit : files.commits) last = std::max(last, commit.time);
    return last;
}

Time first_moment(RunFiles const& files)
{
    Time first = Time::max();
    for (auto const& event : files.poller) first = std::min(first, event.time);
    for (auto const& site : files.sites)
        for (auto const& event : site.events) first = std::min(first, event.time);
    if (first != Time::max()) return first;
    return files.trace.empty() || files.trace[0].readings.empty() ? Time{}
                                                                  : files.trace[0].readings[0].time;
}

}  // namespace

RunStory story_of(RunFiles const& files)
{
    RunStory story;
    story.axis = Axis{files.clock, files.clock ? files.clock->origin : first_moment(files)};
    story.end =
        std::max(last_moment(files), files.clock ? files.clock->real_origin : story.axis.zero());
    story.end_s = story.axis.at(story.end);
    auto const poller = in_order(files.poller);
    story.decisions = decisions_of(files, poller, story.axis);
    story.windows = windows_of(files, poller, story.axis);
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        SiteStory site;
        site.jobs = jobs_of(in_order(files.sites[s].events), poller, files.run.sites[s].site);
        for (auto const& job : site.jobs) {
            story.running = story.running || !job.end;
            add_held(site, job, files.sites[s].metrics, story.axis, story.end);
            if (job.stop_requested && job.exit)
                site.drains.push_back(seconds_between(*job.stop_requested, *job.exit));
        }
        story.sites.push_back(std::move(site));
    }
    for (auto& window : story.windows) {
        Time const next = next_opening(story.windows, window);
        add_closing(window, story.decisions, story.end_s);
        add_first_step(window, files.sites[window.site], next);
        add_provision(story.sites[window.site], window, next, story.axis);
        add_edges(window, next, story);
    }
    for (auto& site : story.sites)
        std::stable_sort(
            site.states.begin(), site.states.end(),
            [](StateSpan const& a, StateSpan const& b) { return a.when.from_s < b.when.from_s; });
    return story;
}

}  // namespace curtail::account
