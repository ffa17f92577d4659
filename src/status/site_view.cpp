// SPDX-License-Identifier: Apache-2.0
#include "status/site_view.hpp"

#include <sys/stat.h>

#include "core/text.hpp"
#include "runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

std::optional<Time> modified(std::filesystem::path const& file)
{
    struct stat info {};
    if (stat(file.c_str(), &info) != 0) return std::nullopt;
    return from_unix_ms(std::int64_t{info.st_mtim.tv_sec} * 1000 +
                        info.st_mtim.tv_nsec / 1'000'000);
}

void read_poller(config::Run const& run, SitesView& view)
{
    auto const path = run.poller_folder() / "state.json";
    view.poller_wrote = modified(path);
    auto const stored = runlog::read_poller_sites(path);
    if (!stored) return view.notes.push_back(stored.error().message());
    if (!*stored) return view.notes.push_back("no poller has run for this run yet");
    for (auto const& known : **stored)
        for (auto& site : view.sites)
            if (known.site == site.site) static_cast<runlog::PollerSite&>(site) = known;
}

void read_trainer(config::Run const& run, SitesView& view, SiteView& site)
{
    auto const path = run.site_folder(site.site) / "events.jsonl";
    auto const file = runlog::read_events(path);
    if (!file) {
        view.notes.push_back(file.error().message());
        return;
    }
    for (auto const& event : file->events) {
        auto const change = runlog::state_change_in(event);
        if (!change || change->state.empty()) continue;
        site.trainer = printable(change->state);
        site.trainer_since = event.time;
    }
}

void read_permission(config::Run const& run, SitesView& view, SiteView& site)
{
    auto const folder = run.site_folder(site.site);
    if (auto read = permission::read_permission(folder, run.run, site.site))
        site.permission = std::move(*read);
    else view.notes.push_back(read.error().message());
    if (auto read = permission::read_hold(folder, run.run, site.site))
        site.decision = std::move(*read);
    else view.notes.push_back(read.error().message());
}

}  // namespace

SitesView read_sites(config::Run const& run)
{
    SitesView view;
    for (auto const& site : run.sites) {
        view.sites.emplace_back();
        view.sites.back().site = site.site;
        view.sites.back().failures_before_hold = site.launcher.failures_before_hold;
    }
    read_poller(run, view);
    for (auto& site : view.sites) {
        read_trainer(run, view, site);
        read_permission(run, view, site);
    }
    return view;
}

}  // namespace curtail::status
