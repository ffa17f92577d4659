// SPDX-License-Identifier: Apache-2.0
#include "account/account_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"

namespace curtail::account {
namespace {

/// `key value, key value` of an event's details, for people; the round has a column of its own,
/// nested objects are not for reading.
std::string details_text(json::Object const& details)
{
    std::string out;
    for (auto const& [key, value] : details.members()) {
        if (key == "round" || value.as_object() != nullptr) continue;
        if (!out.empty()) out += ", ";
        out += key + " " + (value.as_text() != nullptr ? *value.as_text() : json::to_string(value));
    }
    return out;
}

EventLine line_of(Event const& event, std::string const& site, Axis const& axis)
{
    EventLine line{axis.at(event.time), event.type, {}, site, details_text(event.details)};
    auto const* round = event.details.find("round");
    if (round != nullptr && round->as_integer() != nullptr) line.round = *round->as_integer();
    return line;
}

void add_events(RunFiles const& files, RunStory const& story, Account& account)
{
    for (auto const& event : files.poller)
        account.events.push_back(line_of(event, event.site, story.axis));
    for (std::size_t s = 0; s < files.sites.size(); ++s)
        for (auto const& event : files.sites[s].events)
            account.events.push_back(line_of(event, files.run.sites[s].site.value, story.axis));
    std::stable_sort(account.events.begin(), account.events.end(),
                     [](EventLine const& a, EventLine const& b) { return a.at_s < b.at_s; });
}

void add_windows(RunFiles const& files, RunStory const& story, Account& account)
{
    for (auto const& w : story.windows) {
        WindowAccount window;
        window.site = w.site;
        window.open_s = w.open_s;
        window.close_s = w.close_s;
        window.closing = w.closing;
        Time next = Time::max();
        for (auto const& other : story.windows)
            if (other.site == w.site && other.opened_at > w.opened_at)
                next = std::min(next, other.opened_at);
        bool held = false;
        for (auto const& job : story.sites[w.site].jobs) {
            if (job.begin < w.opened_at || job.begin >= next) continue;
            held = true;
            window.released_s = job.end ? MaybeSeconds(story.axis.at(*job.end)) : std::nullopt;
        }
        if (!held) window.released_s = w.close_s;
        if (w.first_step) window.first_step_s = story.axis.at(*w.first_step);
        window.start = w.start;
        window.stop = w.stop;
        for (auto const& row : files.sites[w.site].metrics) {
            if (row.time < w.opened_at || row.time >= next) continue;
            ++window.steps;
            window.last_step_s = story.axis.at(row.time);
        }
        account.windows.push_back(std::move(window));
    }
}

void add_signals(RunFiles const& files, RunStory const& story, Account& account)
{
    for (auto const& region : files.trace) {
        SignalSeries series{region.region.value, {}, {}};
        for (auto const& point : region.readings) {
            series.t.push_back(story.axis.of_signal(point.time));
            series.value.push_back(point.intensity ? std::optional(point.intensity->value)
                                                   : std::nullopt);
        }
        if (!series.t.empty()) account.trace_end_s = std::max(account.trace_end_s, series.t.back());
        account.signals.push_back(std::move(series));
    }
}

/// A replay has come to the end of what it replays.
bool is_over(RunFiles const& files, RunStory const& story)
{
    if (!files.clock || !files.whole_trace) return false;
    auto const until = files.evaluated_until.value_or(story.axis.signal(story.end));
    return std::all_of(files.trace.begin(), files.trace.end(), [&](RegionSeries const& t) {
        return t.readings.empty() || t.readings.back().time <= until;
    });
}

/// The last thing that happened to a job of the window is that the poller stopped it, although the
/// window had not closed.
bool was_stopped(WindowStory const& window, std::string const& site,
                 std::vector<Event> const& poller)
{
    bool stopped = false;
    for (auto const& event : poller) {
        if (event.site != site || text_of(event, "window") != window.id) continue;
        if (event.type == "job-submitted") stopped = false;
        if (event.type == "job-drained" || event.type == "job-cancelled") stopped = true;
    }
    return stopped;
}

std::string status_of(RunFiles const& files, RunStory const& story)
{
    if (!files.commits.empty() && files.commits.back().complete) return "complete";
    if (story.running) return "running";
    if (is_over(files, story)) return "finished";
    bool open = false;
    bool stopped = false;
    for (auto const& window : story.windows) {
        if (window.close_s) continue;
        open = true;
        stopped =
            stopped || was_stopped(window, files.run.sites[window.site].site.value, files.poller);
    }
    if (stopped) return "stopped";
    if (open) return "waiting for devices";
    return story.windows.empty() && files.commits.empty() ? "waiting for a window" : "resting";
}

}  // namespace

void fill_basics(RunFiles const& files, RunStory const& story, Account& account)
{
    account.name = files.run.run.value;
    account.title = "Run " + files.run.run.value;
    account.status = status_of(files, story);
    account.parameters = files.run.model.parameters();
    account.model = fmt::format("GPT of depth {}, {:.3g} M parameters", files.run.model.layers,
                                static_cast<double>(account.parameters) * 1e-6);
    account.time_zero = story.axis.zero();
    account.clock_factor = story.axis.factor();
    account.end_s = story.end_s;
    account.decisions = story.decisions;
    account.signal_provider = files.trace_name;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s) {
        auto const& from = files.run.sites[s];
        SiteAccount site;
        site.id = from.site;
        site.region = from.region;
        site.label = from.site.value;
        site.devices = from.devices;
        site.open_below = from.window.open_below;
        site.close_above = from.window.close_above;
        site.close_delay_s = FractionalSeconds(from.window.close_delay).count();
        site.states = story.sites[s].states;
        site.drain = spread_of(story.sites[s].drains);
        std::vector<double> starts;
        for (auto const& w : story.windows)
            if (w.site == s && w.start) starts.push_back(w.start->took);
        site.startup = spread_of(starts);
        site.closed_s = std::max(0.0, account.end_s - seconds_in(site));
        for (auto const& row : files.sites[s].metrics)
            account.last_step_s =
                std::max(account.last_step_s.value_or(0), story.axis.at(row.time));
        account.sites.push_back(std::move(site));
    }
    add_signals(files, story, account);
    add_windows(files, story, account);
    add_events(files, story, account);
}

Account account_of(RunFiles const& files)
{
    auto const story = story_of(files);
    Account account;
    fill_basics(files, story, account);
    fill_rounds(files, story, account);
    fill_energy(files, story, account);
    fill_unknown(files, account);
    fill_loss(files, story, account);
    fill_always_on(files, story, account);
    fill_words(files, story, account);
    return account;
}

}  // namespace curtail::account
