// SPDX-License-Identifier: Apache-2.0
// Compares the samples of the pollers with the times at which the pollers ran. What is missing may
// have other reasons than a forgery, so these notes state facts.
#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "bill/account/checks.hpp"

namespace curtail::account {
namespace {

// The pollers of the sites in one region.
struct Pollers {
    std::optional<std::size_t> first_site{};
    std::string logs;
    std::optional<Time> begin{};  // of the first event, on the signal's clock
    Millis max_age{0};
};

Pollers pollers_of(RunFiles const& files, Timeline const& timeline, RegionId const& region)
{
    Pollers pollers;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const& site = files.run.sites[s].site;
        auto const& settings = timeline.sites[s].settings.last();
        if (settings.region != region) continue;
        if (!pollers.first_site) pollers.first_site = s;
        pollers.logs +=
            (pollers.logs.empty() ? "" : ", ") + log_name(site, journal::Stream::signals);
        pollers.max_age = std::max<Millis>(pollers.max_age, settings.signal_max_age);
        for (auto const& event : files.poller_events) {
            bool const is_here = timeline.sites[s].settings.at(event.time).region == region;
            if (event.site != site.value || !is_here) continue;
            auto const time = timeline.axis.signal(event.time);
            pollers.begin = std::min(pollers.begin.value_or(time), time);
        }
    }
    return pollers;
}

// Intervals without a sample, each longer than the period of the sample before it. The
// newest sample may have become stale at `end`, when the poller evaluated the window last: a
// provider may be late.
Contradictions gaps_in(std::vector<SamplePoint> const& points, Pollers const& pollers,
                       std::optional<Time> const& end)
{
    Contradictions gaps;
    if (points.empty()) return gaps;
    auto const& first = points.front();
    auto const& last = points.back();
    if (pollers.begin && first.period && first.time > *pollers.begin + *first.period)
        gaps.add({*pollers.begin, first.time});
    if (end && last.period && *end > last.time + std::max(*last.period, pollers.max_age))
        gaps.add({last.time, *end});
    for (std::size_t i = 1; i < points.size(); ++i) {
        auto const& before = points[i - 1];
        if (before.period && points[i].time > before.time + *before.period)
            gaps.add({before.time, points[i].time});
    }
    return gaps;
}

// Samples that ended long before the poller began to run. No decision can have needed them.
Contradictions early_samples(std::vector<SamplePoint> const& points, Pollers const& pollers)
{
    Contradictions early;
    if (!pollers.begin) return early;
    for (auto const& point : points) {
        auto const valid = std::max(pollers.max_age, point.period.value_or(Millis{0}));
        if (point.time + valid < *pollers.begin) early.add(point.time);
    }
    return early;
}

}  // namespace

void check_samples(Doubts& doubts, RunFiles const& files, Timeline const& timeline)
{
    if (files.trace_from_file || files.recalculation) return;
    auto const add = [&](Pollers const& pollers, char const* title, std::string const& what) {
        doubts.push_back({pollers.first_site, energy::Bound::exact, title, pollers.logs + what});
    };
    for (auto const& series : files.trace) {
        auto const pollers = pollers_of(files, timeline, series.region);
        if (!pollers.first_site) continue;
        auto const region = printable(series.region.value);
        if (auto const gaps = gaps_in(series.points, pollers, files.evaluated_until);
            gaps.count > 0)
            add(pollers, "Gaps in the samples",
                fmt::format(": the samples of {} have {} gaps longer than the period of the sample "
                            "before, {}. "
                            "The poller asked less often, it or the provider had a pause, or lines "
                            "are missing.",
                            region, gaps.count, span_text(gaps.when)));
        if (auto const early = early_samples(series.points, pollers); early.count > 0)
            add(pollers, "Samples before the poller",
                fmt::format(": {} samples of {}, {}, ended before the poller's first event. No "
                            "decision needed them, and always-on may begin with them.",
                            early.count, region, span_text(early.when)));
    }
    for (auto const& mixed : files.wrong_samples.mixed) {
        auto const pollers = pollers_of(files, timeline, mixed.region);
        if (!pollers.first_site) continue;
        add(pollers, "Two kinds of samples",
            fmt::format(": {} samples of {}, {}, are of kind average, and none of kind marginal "
                        "has their time. Each kind has its own sums.",
                        mixed.count, printable(mixed.region.value),
                        span_text({mixed.from, mixed.to})));
    }
}

}  // namespace curtail::account
