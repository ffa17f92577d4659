// SPDX-License-Identifier: Apache-2.0
// Compares the lines of each log with each other, and with what other records say about the same
// thing. The writer of a log appends lines in order of time, and each line once.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.hpp"
#include "bill/account/checks.hpp"
#include "run/runlog/configuration.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using journal::Stream;

// Adds a doubt if lines of a file are wrong. `what` goes on after "3 lines from A to B".
void report(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
            Contradictions const& wrong, char const* title, std::string const& what)
{
    if (wrong.count == 0) return;
    doubts.push_back(
        {index, Bound::exact, title,
         fmt::format("{}: {} lines, {}, {}.", file, wrong.count, span_text(wrong.when), what)});
}

std::string key_of(Event const& event)
{
    return format_time(event.time) + event.type + json::to_string(event.details);
}
std::string key_of(StepMetrics const& step)
{
    return format_time(step.time) + fmt::format("{} {}", step.step, step.duration.count());
}

// Two threads may write in another order than they read the clock.
constexpr Millis most_disorder{250};

template <class Line>
void check_order(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                 std::vector<Line> const& lines)
{
    Contradictions early;
    Contradictions repeated;
    std::set<std::string> seen;
    std::optional<Time> newest;
    for (auto const& line : lines) {
        if (!seen.insert(key_of(line)).second) {
            repeated.add(line.time);
            continue;
        }
        if (newest && line.time + most_disorder < *newest) early.add({line.time, *newest});
        newest = std::max(newest.value_or(line.time), line.time);
    }
    report(doubts, index, file, early, "Lines out of order",
           "are earlier than the lines before them. They were moved or inserted, or a clock "
           "was set back");
    report(doubts, index, file, repeated, "Repeated lines", "have the content of earlier lines");
}

// The poller numbers its events.
void check_numbers(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                   std::vector<Event> const& events)
{
    Contradictions wrong;
    std::int64_t highest = 0;
    Time last{};
    for (auto const& event : events) {
        auto const number = event.integer("number");
        if (!number) continue;
        if (*number <= highest) wrong.add({std::min(last, event.time), std::max(last, event.time)});
        highest = std::max(highest, *number);
        last = event.time;
    }
    report(doubts, index, file, wrong, "Event numbers out of order",
           "have a number that is not above the one before. Lines were moved or inserted, or "
           "two pollers wrote the file");
}

// The event has the digest of the settings, and that of each file.
void check_digests(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                   std::vector<Event> const& events)
{
    Contradictions wrong;
    for (auto const& event : events) {
        auto const logged = runlog::configuration_in(event);
        if (!logged) continue;
        auto const expected = runlog::to_event(*logged, event.time, event.site).details;
        for (char const* key : {"digest", "files"}) {
            auto const* value = event.details.find(key);
            if (value != nullptr && *value == *expected.find(key)) continue;
            wrong.add(event.time);
            break;
        }
    }
    report(doubts, index, file, wrong, "Changed settings",
           "have settings that do not fit their digest. They were changed later");
}

// The intensities that a poller may have known at `time`: those of samples of the last `max_age`.
bool has_sample(RegionSeries const& series, Time time, Millis max_age, GramsPerKwh intensity)
{
    auto point = std::ranges::upper_bound(series.points, time, {}, &SamplePoint::time);
    while (point != series.points.begin()) {
        --point;
        if (point->time < time - max_age) return false;
        if (point->intensity == intensity) return true;
    }
    return false;
}

// A poller logs the samples with which it decides, and with each decision the intensity.
void check_decisions(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                     std::vector<Event> const& events, RunFiles const& files,
                     SiteTimeline const& timeline)
{
    Contradictions wrong;
    for (auto const& event : events) {
        auto const change = runlog::phase_change_in(event);
        if (!change || !change->intensity) continue;
        auto const& settings = timeline.settings.at(event.time);
        auto const series = std::ranges::find(files.trace, settings.region, &RegionSeries::region);
        // Of a run in progress, the samples may be published later than the decisions.
        if (series == files.trace.end() || series->points.empty() ||
            change->time > series->points.back().time + settings.signal_max_age)
            continue;
        if (!has_sample(*series, change->time, settings.signal_max_age, *change->intensity))
            wrong.add(change->time);
    }
    report(doubts, index, file, wrong, "Decisions and samples differ",
           "name an intensity that signals.jsonl does not have for their time. One of the two "
           "files lacks lines or was changed");
}

// The events of a replay have two times. The poller logs a decision when its time on the signal's
// clock has come, and most of them soon after.
void check_clock(std::vector<Doubt>& doubts, std::size_t index, std::string const& file,
                 std::vector<Event> const& events, Axis const& axis)
{
    constexpr FractionalSeconds most_ahead{1};
    constexpr Millis most_late = std::chrono::hours{1};
    Contradictions early;
    Contradictions late;
    bool has_punctual = false;
    for (auto const& event : events) {
        auto const change = runlog::phase_change_in(event);
        if (!change) continue;
        auto const lateness = axis.signal(event.time) - change->time;
        if (lateness < -axis.factor() * most_ahead) early.add(event.time);
        if (lateness > most_late) late.add(event.time);
        else has_punctual = true;
    }
    constexpr char const* what =
        "have a time on the signal's clock that does not fit clock.json. The file was changed";
    report(doubts, index, file, early, "Clock and decisions differ", what);
    if (!has_punctual && axis.factor() != 1)
        report(doubts, index, file, late, "Clock and decisions differ", what);
}

// A commit has steps and tokens of each contribution. At the end of the stream, steps are smaller.
void check_tokens(std::vector<Doubt>& doubts, std::size_t index, RunFiles const& files)
{
    auto const& site = files.run.sites[index].site;
    auto const& steps = files.sites[index].metrics;
    double least = 0;
    double most = 0;
    for (auto const& commit : files.commits)
        for (auto const& part : commit.contributions) {
            if (part.site != site || part.steps <= 0) continue;
            auto const mean =
                static_cast<double>(part.tokens.value) / static_cast<double>(part.steps);
            least = least == 0 ? mean : std::min(least, mean);
            most = std::max(most, mean);
        }
    if (most == 0) return;
    auto const is_small = [&](StepMetrics const& step) {
        return static_cast<double>(step.tokens.value) < 0.99 * least;
    };
    auto const end = std::find_if_not(steps.rbegin(), steps.rend(), is_small).base();
    Contradictions wrong;
    for (auto step = steps.begin(); step != steps.end(); ++step) {
        bool const is_large = static_cast<double>(step->tokens.value) > 1.01 * most;
        if (is_large || (step < end && is_small(*step))) wrong.add(step->time);
    }
    report(doubts, index, log_name(site, Stream::metrics), wrong, "Steps and commits differ",
           "have another number of tokens than the steps of the site's contributions have in "
           "the commits");
}

}  // namespace

std::vector<Doubt> line_doubts_of(RunFiles const& files, Timeline const& timeline)
{
    std::vector<Doubt> doubts;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& site = files.run.sites[s].site;
        std::vector<Event> poller;
        std::ranges::copy_if(files.poller_events, std::back_inserter(poller),
                             [&](Event const& event) { return event.site == site.value; });
        auto const poller_file = log_name(site, Stream::poller);
        auto const trainer_file = log_name(site, Stream::trainer);
        check_order(doubts, s, poller_file, poller);
        check_order(doubts, s, trainer_file, files.sites[s].events);
        check_order(doubts, s, log_name(site, Stream::metrics), files.sites[s].metrics);
        check_numbers(doubts, s, poller_file, poller);
        check_digests(doubts, s, poller_file, poller);
        check_digests(doubts, s, trainer_file, files.sites[s].events);
        check_clock(doubts, s, poller_file, poller, timeline.axis);
        check_decisions(doubts, s, poller_file, poller, files, timeline.sites[s]);
        check_tokens(doubts, s, files);
    }
    return doubts;
}

}  // namespace curtail::account
