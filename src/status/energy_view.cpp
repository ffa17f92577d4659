// SPDX-License-Identifier: Apache-2.0
#include "status/energy_view.hpp"

#include "account/parts.hpp"
#include "core/clock_file.hpp"
#include "runlog/trainer_events.hpp"
#include "signals/sample_log.hpp"

namespace curtail::status {
namespace {

namespace fs = std::filesystem;

// Whether a trainer logged no exit before the site's next one started.
bool has_killed_trainer(std::vector<runlog::Event> const& events)
{
    bool running = false;
    for (auto const& event : events) {
        if (runlog::trainer_exit_in(event)) running = false;
        if (!runlog::trainer_start_in(event)) continue;
        if (running) return true;
        running = true;
    }
    return false;
}

Result<account::SiteFiles> read_site(fs::path const& folder,
                                     std::vector<runlog::StepMetrics> const& newest)
{
    auto events = runlog::read_events(folder / "events.jsonl");
    if (!events) return tl::unexpected(events.error());
    if (!has_killed_trainer(events->events))
        return account::SiteFiles{std::move(events->events), newest};
    auto metrics = runlog::read_metrics(folder / "metrics.jsonl");
    if (!metrics) return tl::unexpected(metrics.error());
    return account::SiteFiles{std::move(events->events), std::move(metrics->steps)};
}

// Reads what the computation of energy needs; the other fields stay empty.
Result<account::RunFiles> read_files(config::Run const& run, WorkView const& work)
{
    account::RunFiles files;
    files.run = run;
    auto const clock = read_clock(run.folder);
    if (!clock) return tl::unexpected(clock.error());
    files.clock = *clock;
    auto poller = runlog::read_events(run.poller_folder() / "events.jsonl");
    if (!poller) return tl::unexpected(poller.error());
    files.poller_events = std::move(poller->events);
    auto samples = signals::read_sample_log(run.poller_folder() / "signals.jsonl");
    if (!samples) return tl::unexpected(samples.error());
    files.trace = std::move(samples->regions);
    for (std::size_t s = 0; s < run.sites.size(); ++s) {
        auto site = read_site(run.site_folder(run.sites[s].site), work.sites.at(s));
        if (!site) return tl::unexpected(site.error());
        files.sites.push_back(std::move(*site));
    }
    return files;
}

std::optional<SamplePoint> newest_sample(account::RunFiles const& files, RegionId const& region)
{
    for (auto const& series : files.trace)
        if (series.region == region && !series.points.empty()) return series.points.back();
    return std::nullopt;
}

EnergyView energy_in(account::RunFiles const& files)
{
    auto const computed = account::energy_of(files, account::timeline_of(files), {}, {});
    EnergyView view;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s)
        view.sites.push_back(
            {computed.sites[s].bill.total, newest_sample(files, files.run.sites[s].region)});
    return view;
}

}  // namespace

energy::Tally EnergyView::total() const
{
    energy::Tally total;
    for (auto const& site : sites) total += site.tally;
    return total;
}

EnergyReading read_energy(config::Run const& run, WorkView const& work)
{
    std::error_code error;
    if (!fs::exists(run.poller_folder() / "state.json", error)) return {};
    auto const files = read_files(run, work);
    if (!files)
        return {{}, {files.error().with_context("energy and carbon are unknown").message()}};
    return {energy_in(*files), {}};
}

}  // namespace curtail::status
