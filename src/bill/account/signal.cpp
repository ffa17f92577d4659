// SPDX-License-Identifier: Apache-2.0
#include "bill/account/signal.hpp"

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "run/energy/intensity.hpp"
#include "run/runlog/configuration.hpp"
#include "run/samples/trace.hpp"

namespace curtail::account {
namespace {

// Whether a poller has logged that it replays a file with this digest.
bool is_replayed(Digest const& sha256, std::vector<SiteLogs> const& logs)
{
    return std::ranges::any_of(logs, [&](SiteLogs const& site) {
        return std::ranges::any_of(site.poller_events, [&](Event const& event) {
            auto const configuration = runlog::configuration_in(event);
            return configuration && configuration->source.text_at("sha256") == sha256.hex();
        });
    });
}

RegionSeries const* find_region(std::vector<RegionSeries> const& series, RegionId const& region)
{
    auto const found = std::ranges::find(series, region, &RegionSeries::region);
    return found == series.end() ? nullptr : &*found;
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
    files.averages = std::move(samples.averages);
    files.wrong_samples.faulty = std::move(samples.faults);
    if (samples.regions.empty()) return;
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
    if (files.trace.empty() || is_replayed(sha256(*text), logs)) {
        files.trace = trace->series();
        files.trace_name = name;
        files.trace_from_file = true;
        files.estimated_samples = 0;
        return other;
    }
    other = OtherTrace{name, trace->series()};
    for (auto const& series : other->series) {
        if (find_region(files.trace, series.region) != nullptr) continue;
        files.regions_from_trace.push_back(series.region);
        files.trace.push_back(series);
    }
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
