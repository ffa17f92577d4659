// SPDX-License-Identifier: Apache-2.0
#include "bill/status/energy_view.hpp"

#include <algorithm>

#include "bill/account/parts.hpp"

namespace curtail::status {
namespace {

namespace fs = std::filesystem;

// Reads what the computation of energy needs; the other fields stay empty.
Result<account::RunFiles> files_of(config::Run const& run, LogView const& view)
{
    account::RunFiles files;
    files.run = run;
    std::vector<account::SiteLogs> logs;
    for (auto const& site : view.sites) {
        if (!site) return tl::unexpected(site.error());
        logs.push_back(*site);
    }
    files.trace = account::samples_of(run, logs).regions;
    if (auto taken = account::take_logs(files, std::move(logs)); !taken)
        return tl::unexpected(taken.error());
    return files;
}

std::optional<SamplePoint> newest_sample(account::RunFiles const& files, RegionId const& region)
{
    for (auto const& series : files.trace)
        if (series.region == region && !series.points.empty()) return series.points.back();
    return std::nullopt;
}

// Tells whether a poller, here or elsewhere, has served the run.
bool has_poller(config::Run const& run, LogView const& logs)
{
    std::error_code error;
    if (fs::exists(run.poller_folder() / "state.json", error)) return true;
    return std::any_of(logs.sites.begin(), logs.sites.end(), [](auto const& site) {
        return site && !site->text(journal::Stream::poller).is_missing();
    });
}

}  // namespace

energy::Tally EnergyView::total() const
{
    energy::Tally total;
    for (auto const& site : sites) total += site.tally;
    return total;
}

EnergyReading read_energy(config::Run const& run, LogView const& logs)
{
    if (!has_poller(run, logs)) return {};
    auto const files = files_of(run, logs);
    if (!files)
        return {{}, {files.error().with_context("energy and carbon are unknown").message()}};
    auto const computed = account::energy_of(*files, account::timeline_of(*files), {}, {});
    EnergyView view;
    for (std::size_t s = 0; s < run.sites.size(); ++s)
        view.sites.push_back(
            {computed.sites[s].bill.total, newest_sample(*files, run.sites[s].region)});
    return {std::move(view), {}};
}

}  // namespace curtail::status
