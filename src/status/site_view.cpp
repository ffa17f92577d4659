// SPDX-License-Identifier: Apache-2.0
#include "status/site_view.hpp"

#include "core/text.hpp"
#include "runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

void read_poller(config::Run const& run, SitesView& view)
{
    auto const stored = runlog::read_poller_sites(run.poller_folder() / "state.json");
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

}  // namespace

SitesView read_sites(config::Run const& run)
{
    SitesView view;
    for (auto const& site : run.sites) {
        view.sites.emplace_back();
        view.sites.back().site = site.site;
    }
    read_poller(run, view);
    for (auto& site : view.sites) read_trainer(run, view, site);
    return view;
}

}  // namespace curtail::status
