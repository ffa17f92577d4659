// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/parts.hpp"

namespace curtail::account {
namespace {

// Returns by how much the times of lines that were written one after the other go back at most.
template <class Line>
Millis largest_step_back(std::vector<Line> const& lines)
{
    Millis largest{0};
    for (std::size_t i = 1; i < lines.size(); ++i)
        largest = std::max(largest, lines[i - 1].time - lines[i].time);
    return largest;
}

// The events of each site were written one after the other.
Millis largest_step_back_of_poller(RunFiles const& files)
{
    std::map<std::string, std::vector<Event>> by_site;
    for (auto const& event : files.poller_events) by_site[event.site].push_back(event);
    Millis largest{0};
    for (auto const& [site, events] : by_site)
        largest = std::max(largest, largest_step_back(events));
    return largest;
}

// Launchers count in whole seconds, and two threads may write in another order than they read the
// clock.
constexpr Millis tolerance{1000};

double seconds(Millis ms) { return FractionalSeconds(ms).count(); }

void check_clock(std::vector<std::string>& warnings, std::string const& name, Millis back)
{
    if (back > tolerance)
        warnings.push_back(
            fmt::format("the clock of {} was set back by {:.1f} s during the run; "
                        "later times, energy and CO2 are wrong",
                        name, seconds(back)));
}

// Returns how much more time passed between two steps than on the machine's monotonic clock.
Millis ahead_between(StepMetrics const& before, StepMetrics const& after)
{
    if (!before.monotonic || !after.monotonic || *after.monotonic < *before.monotonic)
        return Millis{0};
    return (after.time - before.time) - (*after.monotonic - *before.monotonic);
}

// Returns by how much the clock of a site's machine was set forward while its jobs trained. A
// suspended machine looks the same.
Millis set_forward_by(std::vector<StepMetrics> const& steps, std::vector<JobTimeline> const& jobs)
{
    Millis sum{0};
    StepsByTime const by_time(steps);
    for (auto const& job : jobs) {
        auto const mine = by_time.between(job.begin, job.end.value_or(Time::max()));
        for (std::size_t i = 1; i < mine.size(); ++i) {
            auto const ahead = ahead_between(mine[i - 1], mine[i]);
            if (ahead > tolerance) sum += ahead;
        }
    }
    return sum;
}

}  // namespace

std::vector<std::string> warnings_of(RunFiles const& files, Timeline const& timeline)
{
    std::vector<std::string> warnings;
    check_clock(warnings, "the poller", largest_step_back_of_poller(files));
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& name = files.run.sites[s].site.value;
        if (auto const back = files.sites[s].set_back; back > Millis{0})
            warnings.push_back(
                fmt::format("the clock of {} was set back by {:.1f} s while it trained; the report "
                            "takes the times from its monotonic clock",
                            name, seconds(back)));
        check_clock(warnings, name,
                    std::max(largest_step_back(files.sites[s].events),
                             largest_step_back(files.sites[s].metrics)));
        if (auto const ahead = set_forward_by(files.sites[s].metrics, timeline.sites[s].jobs);
            ahead > tolerance)
            warnings.push_back(
                fmt::format("the clock of {} was set forward by {:.1f} s while it trained, or its "
                            "machine was suspended; energy and CO2 are too high",
                            name, seconds(ahead)));
        for (auto const& job : timeline.sites[s].jobs)
            for (auto const& doubt : job.doubts) warnings.push_back(name + ": " + doubt);
    }
    if (files.commits.empty()) return warnings;
    auto const& tip = files.commits.back();
    if (auto const state = followed_state(followed_of(files), {tip.number}, {tip.round}))
        for (auto& warning : followed_warnings(*state, files.run.held_out))
            warnings.push_back(std::move(warning));
    return warnings;
}

}  // namespace curtail::account
