// SPDX-License-Identifier: Apache-2.0
#include "bill/account/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bill/account/billing.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;

// What a journal lacks cannot be in the bill.
void check_journal(Doubts& doubts, SiteRecords const& r)
{
    auto const& publication = r.files.publication;
    for (auto const& problem : publication.problems)
        doubts.push_back({r.index, publication.lacks_lines ? Bound::uncertain : Bound::exact,
                          "Damaged journal", problem + "."});
}

WattHours drawn_by_jobs(energy::Bill const& bill)
{
    auto const between = bill.by_state.find(PowerState::between_jobs);
    return bill.total.energy -
           (between != bill.by_state.end() ? between->second.energy : WattHours{});
}

}  // namespace

Watts SiteRecords::power_at(PowerState state, Time time) const
{
    auto const& then = timeline.settings.at(time);
    auto power = power_of(timeline, then);
    if (!power) return {};
    for (auto const& change : then.later_pues)
        if (change.from <= time) power->pue = change.pue;
    return power->of(state);
}

bool SiteRecords::matters(WattHours energy) const { return energy.value > tolerance * drawn.value; }

bool SiteRecords::matters(FractionalSeconds time) const { return time > tolerance * held; }

std::string job_text(JobTimeline const& job)
{
    return "job " + (job.job.empty() ? "without a number" : job.job);
}

std::string span_text(energy::Interval when)
{
    return "from " + format_time(when.from) + " to " + format_time(when.to);
}

std::vector<Event> poller_events_of(std::vector<Event> const& poller, SiteId const& site)
{
    std::vector<Event> events;
    std::ranges::copy_if(poller, std::back_inserter(events),
                         [&](Event const& event) { return event.site == site.value; });
    return events;
}

energy::Interval interval_of(StepMetrics const& step)
{
    return {step.time - std::chrono::round<Millis>(step.duration), step.time};
}

std::vector<Doubt> doubts_of(RunFiles const& files, Timeline const& timeline, Work const& work,
                             Energy const& energy)
{
    Doubts doubts;
    if (files.clock_differs)
        doubts.push_back({std::nullopt, Bound::uncertain, "Another clock",
                          "The clocks in clock.json of the run's folder and in the sites' journals "
                          "differ, from the run's begin to its end. The bill has the clock of the "
                          "first journal."});
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const drawn = drawn_by_jobs(energy.sites[s].bill);
        SiteRecords records{s,
                            files.run.sites[s],
                            files.sites[s],
                            timeline.sites[s],
                            files.poller_events,
                            work.sites[s].tokens,
                            timeline.end,
                            timeline.axis.factor() == 1,
                            Millis{0},
                            WattHours{drawn.value / timeline.axis.factor()}};
        for (auto const& state : records.timeline.held_real)
            records.held += state.when.to - state.when.from;
        check_journal(doubts, records);
        check_settings(doubts, records, files);
        check_jobs(doubts, records);
        check_clocks(doubts, records);
        check_decisions(doubts, records, files, timeline.axis);
        check_commits(doubts, records, files);
        check_steps(doubts, records);
        check_meters(doubts, records);
    }
    check_sites(doubts, files);
    check_samples(doubts, files, timeline);
    return doubts;
}

}  // namespace curtail::account
