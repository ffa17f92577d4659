// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/checks.hpp"
#include "bill/account/clocks.hpp"

namespace curtail::account {
namespace {

using energy::Bound;

double seconds(FractionalSeconds time) { return time.count(); }

void add(Doubts& doubts, SiteRecords const& r, Millis by, char const* title, std::string text)
{
    doubts.push_back(
        {r.index, r.matters(by) ? Bound::uncertain : Bound::exact, title, std::move(text)});
}

void add_set_back(Doubts& doubts, SiteRecords const& r, std::string const& log,
                  ClockChange const& change)
{
    if (change.by <= clock_rounding) return;
    add(doubts, r, change.by, "Clock set back",
        fmt::format("the clock of {} was set back by {:.1f} s {}, as the times in {} show. Later "
                    "times are wrong.",
                    r.name(), seconds(change.by), span_text(change.when), log));
}

void add_set_forward(Doubts& doubts, SiteRecords const& r)
{
    auto const change = set_forward(r.files, r.timeline.jobs);
    if (change.by <= clock_rounding) return;
    add(doubts, r, change.by, "Clock set forward",
        fmt::format("the clock of {} was set forward by {:.1f} s {} while it trained, or its "
                    "machine was suspended. The monotonic clock in its metrics.jsonl or "
                    "events.jsonl shows this. The bill has this time as time with devices.",
                    r.name(), seconds(change.by), span_text(change.when)));
}

// Each line of a trainer has the time of the monotonic clock.
template <class Line, class HasTime>
void check_monotonic(Doubts& doubts, SiteRecords const& r, char const* log,
                     std::vector<Line> const& lines, HasTime const& has_time)
{
    Contradictions missing;
    for (auto const& line : lines)
        if (!has_time(line)) missing.add(line.time);
    if (missing.count == 0) return;
    auto const all = static_cast<double>(lines.size());
    bool const matters =
        missing.count < lines.size() && static_cast<double>(missing.count) > tolerance * all;
    doubts.push_back(
        {r.index, matters ? Bound::uncertain : Bound::exact, "Clock not checked",
         fmt::format("{}: {} of {} lines of {} lack monotonic_s, {}. Nothing "
                     "shows whether their times are right.",
                     r.name(), missing.count, lines.size(), log, span_text(missing.when))});
}

// No trainer logs anything before its job has started.
void check_begin(Doubts& doubts, SiteRecords const& r, JobTimeline const& job)
{
    auto const& reports = job.reported;
    auto const earliest = reports.started ? reports.started : reports.submitted;
    if (!earliest || !job.first_event || *job.first_event + usual_difference >= *earliest) return;
    auto const by = *earliest - *job.first_event;
    add(doubts, r, by, "Times of a job differ",
        fmt::format("{}: the trainer of {} begins {:.1f} s before the {} of the job in the "
                    "poller's events.jsonl, {}. The clocks differ, or one of the two files was "
                    "changed.",
                    r.name(), job_text(job), seconds(by), reports.started ? "start" : "submission",
                    span_text({*job.first_event, *earliest})));
}

// Tells whether a job can have ended when the launcher says so: the launcher's job must be as long
// as the trainer's records.
bool is_long_enough(JobTimeline const& job)
{
    auto const& reports = job.reported;
    Time const first = job.first_event.value_or(job.begin);
    Time const begin = reports.started.value_or(reports.submitted.value_or(first));
    return *reports.ended - begin + rounding >= job.last_sign - first;
}

// No trainer logs anything after its job has ended. An end of the launcher that cannot be right is
// no end (jobs_of()).
void check_end(Doubts& doubts, SiteRecords const& r, JobTimeline const& job)
{
    auto const& reports = job.reported;
    auto end = reports.gone;
    if (reports.ended && !reports.was_stopped && is_long_enough(job)) end = reports.ended;
    if (!end || job.last_sign <= *end + usual_difference) return;
    auto const by = job.last_sign - *end;
    add(doubts, r, by, "Times of a job differ",
        fmt::format("{}: {} has events or steps until {:.1f} s after its end in the poller's "
                    "events.jsonl, {}. The clocks differ, or one of the files was changed.",
                    r.name(), job_text(job), seconds(by), span_text({*end, job.last_sign})));
}

}  // namespace

void check_clocks(Doubts& doubts, SiteRecords const& r)
{
    add_set_back(doubts, r, "the poller's events.jsonl",
                 set_back(poller_events_of(r.poller, r.site.site)));
    add_set_back(doubts, r, "events.jsonl", set_back(r.files.events));
    add_set_back(doubts, r, "metrics.jsonl", set_back(r.files.metrics));
    add_set_forward(doubts, r);
    check_monotonic(doubts, r, "events.jsonl", r.files.events,
                    [](Event const& event) { return event.number("monotonic_s").has_value(); });
    check_monotonic(doubts, r, "metrics.jsonl", r.files.metrics,
                    [](StepMetrics const& step) { return step.monotonic.has_value(); });
    for (auto const& job : r.timeline.jobs) {
        check_begin(doubts, r, job);
        check_end(doubts, r, job);
    }
}

}  // namespace curtail::account
