// SPDX-License-Identifier: Apache-2.0
#include "bill/account/signal.hpp"

#include <algorithm>
#include <set>

#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/account/in_force.hpp"
#include "run/energy/intensity.hpp"
#include "run/runlog/configuration.hpp"
#include "run/samples/trace.hpp"

namespace curtail::account {
namespace {

// The signals that the pollers have logged: the digest of a trace, the kind of any other source, or
// an empty text for a poller that logged none.
std::set<std::string> logged_sources(std::vector<SiteLogs> const& logs)
{
    std::set<std::string> all;
    for (auto const& site : logs) {
        std::set<std::string> mine;
        for (auto const& event : site.poller_events)
            if (auto const configuration = runlog::configuration_in(event);
                configuration && !configuration->source.empty()) {
                auto const digest = configuration->source.text_at("sha256");
                mine.insert(digest.empty() ? configuration->source.text_at("kind") : digest);
            }
        bool const has_poller =
            !site.poller_events.empty() || !site.text(journal::Stream::signals).text.empty();
        if (mine.empty() && has_poller) mine.insert("");
        all.merge(mine);
    }
    return all;
}

// Whether a trace is the signal of a run: the one file that all pollers replayed. A run whose
// pollers say nothing about their signal has no other one.
bool is_signal(Digest const& sha256, std::vector<SiteLogs> const& logs, bool has_samples)
{
    auto const sources = logged_sources(logs);
    bool const is_unknown = sources.empty() || sources == std::set<std::string>{""};
    return is_unknown ? !has_samples : sources == std::set{sha256.hex()};
}

// Compares the values that both series have at the times of `own`.
void compare(Recalculation& recalculation, RegionSeries const& own, RegionSeries const& other)
{
    energy::IntensitySeries const values{other.points};
    for (auto const& point : own.points) {
        ++recalculation.samples;
        if (values.at(point.time) != point.intensity) ++recalculation.differing;
    }
}

// Returns which samples of the pollers the trace that they replayed does not have.
std::vector<samples::FaultySamples> unlike_trace(std::vector<RegionSeries> const& samples,
                                                 std::vector<RegionSeries> const& trace)
{
    std::vector<samples::FaultySamples> all;
    for (auto const& own : samples) {
        auto const* replayed = find_region(trace, own.region);
        if (replayed == nullptr) continue;
        samples::FaultySamples unlike{.region = own.region};
        for (auto const& point : own.points) {
            auto const row =
                std::ranges::lower_bound(replayed->points, point.time, {}, &SamplePoint::time);
            bool const is_there = row != replayed->points.end() && row->time == point.time;
            if (is_there && row->intensity == point.intensity) continue;
            if (unlike.count++ == 0) unlike.from = point.time;
            unlike.to = point.time;
        }
        if (unlike.count > 0) all.push_back(unlike);
    }
    return all;
}

// Returns which average samples have no marginal one of their time beside them, although their
// region has marginal samples: their kind may have been changed.
std::vector<samples::FaultySamples> mixed_kinds(std::vector<RegionSeries> const& averages,
                                                std::vector<RegionSeries> const& marginals)
{
    std::vector<samples::FaultySamples> all;
    for (auto const& series : averages) {
        auto const* marginal = find_region(marginals, series.region);
        if (marginal == nullptr) continue;
        samples::FaultySamples mixed{.region = series.region};
        for (auto const& point : series.points) {
            if (std::ranges::binary_search(marginal->points, point.time, {}, &SamplePoint::time))
                continue;
            if (mixed.count++ == 0) mixed.from = point.time;
            mixed.to = point.time;
        }
        if (mixed.count > 0) all.push_back(mixed);
    }
    return all;
}

// The regions of a trace in which no site is or was.
std::vector<RegionId> other_regions(RunFiles const& files, std::vector<SiteLogs> const& logs,
                                    std::vector<RegionSeries> const& trace)
{
    std::set<RegionId> regions;
    for (std::size_t s = 0; s < logs.size(); ++s)
        for (auto const& settings :
             logged_settings(files.run, files.run.sites[s], logs[s].poller_events, logs[s].events)
                 .all)
            regions.insert(settings.site.region);
    std::vector<RegionId> others;
    for (auto const& series : trace)
        if (!regions.contains(series.region)) others.push_back(series.region);
    return others;
}

// The times that a poller may have asked for, on the signal's clock: those of the logged events,
// and a day more. A sample long before them would make always-on begin in another year.
std::optional<energy::Interval> possible_times(std::optional<TimeScale> const& clock,
                                               std::vector<SiteLogs> const& logs)
{
    constexpr std::chrono::hours day{24};
    std::optional<energy::Interval> times;
    for (auto const& site : logs)
        for (auto const& event : site.poller_events) {
            auto const time = clock ? clock->from_real(event.time) : event.time;
            auto const known = times.value_or(energy::Interval{time, time});
            times = {std::min(known.from, time), std::max(known.to, time)};
        }
    if (times) times = {times->from - day, times->to + day};
    return times;
}

// Returns how many samples it has left out.
std::int64_t leave_out_others(std::vector<RegionSeries>& all, energy::Interval possible)
{
    std::int64_t count = 0;
    for (auto& series : all)
        count += static_cast<std::int64_t>(std::erase_if(series.points, [&](auto const& point) {
            return point.time < possible.from || point.time > possible.to;
        }));
    return count;
}

}  // namespace

RegionSeries const* find_region(std::vector<RegionSeries> const& series, RegionId const& region)
{
    auto const found = std::ranges::find(series, region, &RegionSeries::region);
    return found == series.end() ? nullptr : &*found;
}

void take_samples(RunFiles& files, std::vector<SiteLogs> const& logs)
{
    auto samples = samples_of(files.run, logs);
    if (auto const possible = possible_times(files.clock, logs)) {
        files.impossible_samples = leave_out_others(samples.regions, *possible) +
                                   leave_out_others(samples.averages, *possible);
        std::erase_if(samples.regions, [](auto const& series) { return series.points.empty(); });
        std::erase_if(samples.averages, [](auto const& series) { return series.points.empty(); });
    }
    for (std::size_t s = 0; s < samples.broken_lines.size(); ++s)
        files.add_broken(log_name(files.run.sites[s].site, journal::Stream::signals),
                         samples.broken_lines[s]);
    files.wrong_samples.mixed = mixed_kinds(samples.averages, samples.regions);
    files.wrong_samples.receipts = std::move(samples.receipts);
    files.averages = std::move(samples.averages);
    files.wrong_samples.faulty = std::move(samples.faults);
    if (!files.clock) files.wrong_samples.unconfirmed = std::move(samples.unconfirmed);
    if (samples.regions.empty()) return;
    for (auto const& source : logged_sources(logs))
        if (Digest::from_hex(source))
            files.wrong_samples.uncompared +=
                (files.wrong_samples.uncompared.empty() ? "" : ", ") + source;
    files.estimated_samples = samples.estimated;
    files.trace = std::move(samples.regions);
    std::string providers;
    for (auto const& provider : samples.providers)
        providers += (providers.empty() ? ", from " : ", ") + provider;
    files.trace_name = "samples the poller used" + providers;
}

Result<std::optional<OtherTrace>> read_signal(RunFiles& files,
                                              std::optional<std::filesystem::path> const& path,
                                              std::vector<SiteLogs> const& logs)
{
    std::optional<OtherTrace> other;
    take_samples(files, logs);
    if (!path) return other;
    auto const text = read_file(*path);
    if (!text) return tl::unexpected(text.error());
    auto const trace = samples::read_trace(*path);
    if (!trace) return tl::unexpected(trace.error());
    auto const name = printable(path->filename().string());
    files.regions_from_trace = other_regions(files, logs, trace->series());
    if (is_signal(sha256(*text), logs, !files.trace.empty())) {
        files.wrong_samples.unlike_trace = unlike_trace(files.trace, trace->series());
        files.wrong_samples.uncompared.clear();
        files.trace = trace->series();
        files.trace_name = name;
        files.trace_from_file = true;
        files.estimated_samples = 0;
        return other;
    }
    other = OtherTrace{name, trace->series()};
    if (files.trace.empty()) files.regions_from_trace.clear();
    for (auto const& region : files.regions_from_trace)
        files.trace.push_back(*find_region(other->series, region));
    return other;
}

std::shared_ptr<RunFiles const> recalculated(RunFiles const& files,
                                             std::optional<std::string> const& name,
                                             std::optional<OtherTrace> trace)
{
    auto copy = std::make_shared<RunFiles>(files);
    copy->fixed = nullptr;
    copy->run_digest.reset();
    auto& what = copy->recalculation.emplace();
    what.name = name ? *name : trace ? trace->name : "";
    copy->uses_present_settings = name.has_value();
    if (!trace) return copy;
    what.trace = trace->name;
    for (auto const& own : files.trace) {
        bool const is_own = std::ranges::count(files.regions_from_trace, own.region) == 0;
        auto const* other = find_region(trace->series, own.region);
        if (is_own && other != nullptr) compare(what, own, *other);
    }
    copy->trace = std::move(trace->series);
    copy->trace_name = trace->name;
    return copy;
}

}  // namespace curtail::account
