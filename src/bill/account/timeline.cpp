// SPDX-License-Identifier: Apache-2.0
#include "bill/account/timeline.hpp"

#include <algorithm>

#include "run/config/time_limit.hpp"
#include "run/runlog/poller_events.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

using energy::PowerState;

// Seconds on the signal's axis; those of the event itself if it names no signal time.
double seconds_of(Event const& event, Axis const& axis)
{
    auto const signal_time = runlog::signal_time_of(event);
    return signal_time ? axis.of_signal(*signal_time) : axis.at(event.time);
}

std::optional<std::size_t> site_index(RunFiles const& files, std::string const& site)
{
    for (std::size_t i = 0; i < files.run.sites.size(); ++i)
        if (files.run.sites[i].site.value == site) return i;
    return std::nullopt;
}

Time begin_of(StepMetrics const& step)
{
    return step.time - std::chrono::round<Millis>(step.duration);
}

std::vector<Event> in_order(std::vector<Event> events)
{
    std::stable_sort(events.begin(), events.end(),
                     [](Event const& a, Event const& b) { return a.time < b.time; });
    return events;
}

std::vector<PhaseChange> decisions_of(RunFiles const& files, std::vector<Event> const& poller,
                                      Axis const& axis)
{
    std::vector<PhaseChange> out;
    for (auto const& event : poller) {
        auto const site = site_index(files, event.site);
        auto const change = runlog::phase_change_in(event);
        if (!change || !site) continue;
        auto& decision = out.emplace_back();
        decision.site = *site;
        decision.at_s = seconds_of(event, axis);
        decision.from = windows::to_string(change->from);
        decision.to = windows::to_string(change->to);
        decision.reason = windows::to_string(change->reason);
        if (change->intensity) decision.intensity = change->intensity->value;
    }
    std::stable_sort(out.begin(), out.end(),
                     [](PhaseChange const& a, PhaseChange const& b) { return a.at_s < b.at_s; });
    return out;
}

// Windows from the poller's openings and closings. A poller that was killed may have logged an
// opening twice. It may also have logged no closing: the window then ended at the decision to
// close, or at the site's next opening.
class WindowBuilder {
  public:
    explicit WindowBuilder(Axis const& axis) : axis_(axis) {}

    void add(std::size_t site, runlog::WindowChange const& change, Event const& event)
    {
        bool const is_known =
            !change.window.empty() &&
            std::any_of(windows_.begin(), windows_.end(), [&](WindowTimeline const& w) {
                return w.site == site && w.id == change.window;
            });
        if (change.opens && is_known) return;
        double const at_s = seconds_of(event, axis_);
        auto const last = std::find_if(windows_.rbegin(), windows_.rend(),
                                       [&](WindowTimeline const& w) { return w.site == site; });
        if (last != windows_.rend() && !last->close_s) last->close_s = std::max(last->open_s, at_s);
        if (!change.opens) return;
        auto& window = windows_.emplace_back();
        window.site = site;
        window.id = change.window;
        window.open_s = at_s;
        window.opened_at = event.time;
    }

    [[nodiscard]] std::vector<WindowTimeline> take()
    {
        std::stable_sort(
            windows_.begin(), windows_.end(),
            [](WindowTimeline const& a, WindowTimeline const& b) { return a.open_s < b.open_s; });
        for (auto& window : windows_) {
            window.next_opened_at = Time::max();
            for (auto const& w : windows_)
                if (w.site == window.site && w.opened_at > window.opened_at)
                    window.next_opened_at = std::min(window.next_opened_at, w.opened_at);
        }
        return std::move(windows_);
    }

  private:
    Axis const& axis_;
    std::vector<WindowTimeline> windows_;
};

std::vector<WindowTimeline> windows_of(RunFiles const& files, std::vector<Event> const& poller,
                                       Axis const& axis)
{
    WindowBuilder builder(axis);
    for (auto const& event : poller) {
        auto const site = site_index(files, event.site);
        if (!site) continue;
        auto const phase = runlog::phase_change_in(event);
        bool const closes = phase && phase->to == windows::Phase::closed;
        auto const turn =
            closes ? std::optional(runlog::WindowChange{}) : runlog::window_change_in(event);
        if (turn) builder.add(*site, *turn, event);
    }
    return builder.take();
}

// Intervals between a decision to close and the site's next decision, inside the window.
std::vector<Span> closing_of(WindowTimeline const& window,
                             std::vector<PhaseChange> const& decisions, double end_s)
{
    std::vector<Span> out;
    double const close = window.close_s.value_or(end_s);
    for (auto d = decisions.begin(); d != decisions.end(); ++d) {
        bool const closes = d->site == window.site && d->to == "closing";
        if (!closes || d->at_s < window.open_s || d->at_s > close) continue;
        auto const next =
            std::find_if(std::next(d), decisions.end(),
                         [&](PhaseChange const& other) { return other.site == d->site; });
        double const to = next != decisions.end() ? std::min(close, next->at_s) : close;
        if (to > d->at_s) out.push_back({d->at_s, to});
    }
    return out;
}

// Returns when a site logged first steps, in order. A site that logged no such event logged at
// least its metrics.
std::vector<Time> step_times_of(SiteFiles const& site)
{
    std::vector<Time> out;
    for (auto const& event : site.events)
        if (runlog::is_first_step(event)) out.push_back(event.time);
    if (out.empty())
        for (auto const& step : site.metrics) out.push_back(step.time);
    std::sort(out.begin(), out.end());
    return out;
}

// The time in which the site waited for devices: from the opening, or the end of the job before,
// to the first job of the window.
std::optional<StateSpan> provision_of(WindowTimeline const& window, SiteTimeline const& site,
                                      Axis const& axis)
{
    double from = window.open_s;
    for (auto const& job : site.jobs) {
        if (job.begin >= window.next_opened_at) return std::nullopt;
        double const begin = axis.at(job.begin);
        if (job.begin >= window.opened_at)
            return begin > from ? std::optional(StateSpan{"provision", {from, begin}})
                                : std::nullopt;
        if (job.end) from = std::max(from, axis.at(*job.end));
    }
    return std::nullopt;
}

// Tells whether another site took part in rounds (training or exchanging) in the real interval.
Latency latency_of(std::vector<SiteTimeline> const& sites, std::size_t site, energy::Interval when)
{
    bool others_trained = false;
    for (std::size_t s = 0; s < sites.size(); ++s)
        for (auto const& [state, held] : sites[s].held_real)
            if (s != site && energy::overlap(held, when) &&
                (state == energy::PowerState::training || state == energy::PowerState::exchange))
                others_trained = true;
    return {when.length().count(), others_trained};
}

std::optional<Latency> stop_of(WindowTimeline const& window, std::vector<SiteTimeline> const& sites)
{
    std::optional<Latency> stop;
    for (auto const& job : sites[window.site].jobs)
        if (job.begin >= window.opened_at && job.begin < window.next_opened_at &&
            job.stop_requested && job.exit)
            stop = latency_of(sites, window.site, {*job.stop_requested, *job.exit});
    return stop;
}

SiteTimeline site_timeline(std::vector<JobTimeline> jobs, StepsByTime const& steps,
                           Axis const& axis, Time run_end)
{
    SiteTimeline site;
    for (auto const& job : jobs) {
        for (auto const& [state, when] : states_of(job, steps, run_end)) {
            site.held_real.push_back({state, when});
            site.held.push_back({state, {axis.signal(when.from), axis.signal(when.to)}});
            site.states.push_back({energy::name(state), {axis.at(when.from), axis.at(when.to)}});
        }
        if (job.stop_requested && job.exit)
            site.drains.push_back(seconds_between(*job.stop_requested, *job.exit));
    }
    site.jobs = std::move(jobs);
    return site;
}

Time last_time(RunFiles const& files)
{
    Time last = files.clock ? files.clock->real_origin : Time{};
    for (auto const& event : files.poller_events) last = std::max(last, event.time);
    for (auto const& site : files.sites) {
        for (auto const& event : site.events) last = std::max(last, event.time);
        for (auto const& step : site.metrics) last = std::max(last, step.time);
    }
    for (auto const& commit : files.commits) last = std::max(last, commit.time);
    return last;
}

Time first_time(RunFiles const& files)
{
    Time first = Time::max();
    for (auto const& event : files.poller_events) first = std::min(first, event.time);
    for (auto const& site : files.sites)
        for (auto const& event : site.events) first = std::min(first, event.time);
    if (first != Time::max()) return first;
    bool const empty = files.trace.empty() || files.trace[0].points.empty();
    return empty ? Time{} : files.trace[0].points[0].time;
}

// When the run was complete; otherwise the last recorded time.
Time completion_of(RunFiles const& files, Time end)
{
    for (auto const& commit : files.commits)
        if (commit.run_complete) return std::min(commit.time, end);
    return end;
}

// Finds when a site had no job, between its first poll and `until`.
void find_between_jobs(SiteTimeline& site, std::optional<Time> first_poll, Time until,
                       Axis const& axis)
{
    if (!first_poll) return;
    auto const& settings = site.settings.all;
    auto const add = [&](Time from, Time to) {
        for (std::size_t i = 0; i < settings.size(); ++i) {
            Time const end = i + 1 < settings.size() ? settings[i + 1].from : Time::max();
            energy::Interval const part{std::max(from, settings[i].from), std::min(to, end)};
            auto const between = settings[i].site.between_jobs;
            if (part.from >= part.to || between == energy::BetweenJobs::released) continue;
            bool const is_idle = between == energy::BetweenJobs::idle;
            (is_idle ? site.between_jobs : site.maybe_between_jobs)
                .push_back(
                    {PowerState::between_jobs, {axis.signal(part.from), axis.signal(part.to)}});
        }
    };
    Time at = *first_poll;
    for (auto const& [state, when] : site.held_real) {
        add(at, std::min(when.from, until));
        at = std::max(at, when.to);
    }
    add(at, until);
}

LoggedSettings settings_of(RunFiles const& files, std::size_t s)
{
    auto const& present = files.run.sites[s];
    return files.uses_present_settings
               ? present_settings(files.run, present)
               : logged_settings(files.run, present, files.poller_events, files.sites[s].events);
}

// The pace in the newest log of a site; without a log, the present one.
PaceInForce const& newest_pace(std::vector<SiteTimeline> const& sites)
{
    auto const* newest = &sites.front().settings;
    for (auto const& site : sites)
        if (site.settings.is_logged &&
            (!newest->is_logged || site.settings.logged > newest->logged))
            newest = &site.settings;
    return newest->paces.back();
}

std::optional<Time> first_poll_of(std::vector<Event> const& poller, SiteId const& site)
{
    auto const first = std::ranges::find(poller, site.value, &Event::site);
    return first == poller.end() ? std::nullopt : std::optional(first->time);
}

// When Slurm ends a job of the poller's at the latest. Empty if unknown: a person may start a job
// with another limit, and suspended time does not count.
std::optional<Time> limit_of(JobTimeline const& job, config::LaunchSettings const& launch)
{
    auto const limit = config::parse_time_limit(launch.time_limit);
    bool const is_known = launch.kind == config::LaunchSettings::Kind::slurm && limit &&
                          job.reported.submitted && job.suspended.empty();
    if (!is_known || !limit->length) return std::nullopt;
    return std::max(job.last_sign, job.begin + *limit->length + launch.grace);
}

// Bounds the end of a job that nobody reported by its time limit. Such a job still runs at `until`,
// or it has ended and nobody noticed: a trainer that starts or trains is not silent for long.
void bound_end(JobTimeline& job, config::Site const& site, Time until)
{
    if (job.end && !job.end_from) return;
    if (auto const limit = limit_of(job, site.launch); limit && *limit < job.end.value_or(until)) {
        job.end = *limit;
        job.end_from = job.last_sign;
    }
    auto const state = job.states.empty() ? std::string() : job.states.back().second;
    bool const is_busy = state.empty() || state == energy::name(PowerState::starting) ||
                         state == energy::name(PowerState::training);
    if (!job.end && is_busy && until - job.last_sign > longest_silence(site))
        job.end_from = job.last_sign;
}

// The pace of a job's trainer. If it changed between the job's begin and its first step, nobody
// knows which one the trainer has read. The least one makes no step too long.
JobPace pace_of(JobTimeline const& job, LoggedSettings const& settings,
                std::span<StepMetrics const> steps)
{
    // Those that a stop may have cut short: the one in its pause, and one that began meanwhile.
    constexpr std::size_t most_cut = 2;
    constexpr double precision = 0.99;
    if (steps.empty()) return {};
    JobPace pace{settings.pace_at(job.begin).step_at_least};
    for (auto const& later : settings.paces)
        if (later.from > job.begin && later.from <= begin_of(steps.front()))
            pace.step_at_least = std::min(pace.step_at_least, later.step_at_least);
    for (std::size_t i = 0; i + most_cut < steps.size(); ++i)
        if (steps[i].duration < precision * pace.step_at_least)
            pace.faster.push_back({begin_of(steps[i]), steps[i].time});
    if (!pace.faster.empty()) pace.step_at_least = FractionalSeconds{0};
    return pace;
}

std::vector<SiteTimeline> sites_of(RunFiles const& files, std::vector<Event> const& poller,
                                   Axis const& axis, Time end)
{
    std::vector<SiteTimeline> out;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const until = std::min(end, files.sites[s].publication.until.value_or(end));
        StepsByTime const steps(files.sites[s].metrics);
        auto settings = settings_of(files, s);
        auto jobs =
            jobs_of(in_order(files.sites[s].events), poller, files.run.sites[s].site, steps);
        for (auto& job : jobs) bound_end(job, settings.at(job.begin), until);
        auto& site = out.emplace_back(site_timeline(std::move(jobs), steps, axis, until));
        for (auto const& job : site.jobs)
            site.paces.push_back(pace_of(
                job, settings, steps.between(job.begin, job.end.value_or(until) + Millis{1})));
        site.settings = std::move(settings);
        if (axis.factor() == 1) site.metered = metered_training(files.sites[s].metrics);
        bool const has_open_job = !site.jobs.empty() && !site.jobs.back().end;
        bool const has_idle = site.settings.last().between_jobs == energy::BetweenJobs::idle &&
                              until < completion_of(files, end);
        if (has_open_job || has_idle) site.unpublished = end - until;
        find_between_jobs(site, first_poll_of(poller, files.run.sites[s].site),
                          std::min(until, completion_of(files, end)), axis);
    }
    return out;
}

// Adds to a window, and to its site's states, what follows from decisions, steps and jobs.
void complete(WindowTimeline& window, Timeline& timeline, std::vector<Time> const& steps)
{
    auto& site = timeline.sites[window.site];
    window.closing = closing_of(window, timeline.decisions, timeline.end_s);
    auto const first = std::lower_bound(steps.begin(), steps.end(), window.opened_at);
    if (first != steps.end() && *first < window.next_opened_at) window.first_step = *first;
    window.stop = stop_of(window, timeline.sites);
    if (window.first_step)
        window.start =
            latency_of(timeline.sites, window.site, {window.opened_at, *window.first_step});
    if (auto const provision = provision_of(window, site, timeline.axis))
        site.states.push_back(*provision);
}

}  // namespace

FractionalSeconds least_duration(SiteTimeline const& site, StepMetrics const& step)
{
    auto const begin = begin_of(step);
    auto const after = std::ranges::upper_bound(site.jobs, begin, {}, &JobTimeline::begin);
    if (after == site.jobs.begin()) return site.settings.pace_at(begin).step_at_least;
    return site.paces.at(static_cast<std::size_t>(after - site.jobs.begin()) - 1).step_at_least;
}

Timeline timeline_of(RunFiles const& files)
{
    Timeline timeline;
    timeline.axis = Axis{files.clock, files.clock ? files.clock->origin : first_time(files)};
    timeline.end =
        std::max(last_time(files), files.clock ? files.clock->real_origin : timeline.axis.zero());
    timeline.end_s = timeline.axis.at(timeline.end);
    auto const poller = in_order(files.poller_events);
    timeline.decisions = decisions_of(files, poller, timeline.axis);
    timeline.windows = windows_of(files, poller, timeline.axis);
    timeline.sites = sites_of(files, poller, timeline.axis, timeline.end);
    timeline.pace = newest_pace(timeline.sites);
    timeline.reference =
        site_index(files, timeline.pace.reference_site.value)
            .value_or(static_cast<std::size_t>(&files.run.reference() - files.run.sites.data()));
    std::vector<std::vector<Time>> steps;
    for (auto const& site : files.sites) steps.push_back(step_times_of(site));
    for (auto& window : timeline.windows) complete(window, timeline, steps[window.site]);
    for (auto& site : timeline.sites) {
        for (auto const& job : site.jobs) timeline.running = timeline.running || !job.end;
        std::stable_sort(
            site.states.begin(), site.states.end(),
            [](StateSpan const& a, StateSpan const& b) { return a.when.from_s < b.when.from_s; });
    }
    return timeline;
}

}  // namespace curtail::account
