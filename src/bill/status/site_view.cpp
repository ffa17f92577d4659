// SPDX-License-Identifier: Apache-2.0
#include "bill/status/site_view.hpp"

#include <sys/stat.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/status/poller_log.hpp"
#include "run/journal/publisher.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

std::optional<Time> modified(std::filesystem::path const& file)
{
    struct stat info {};
    if (stat(file.c_str(), &info) != 0) return std::nullopt;
    return from_unix_ms(std::int64_t{info.st_mtim.tv_sec} * 1000 +
                        info.st_mtim.tv_nsec / 1'000'000);
}

// Takes over what the local poller stored about its sites. Returns whether there is such a state.
bool read_poller(config::Run const& run, SitesView& view)
{
    auto const path = run.poller_folder() / "state.json";
    view.poller_wrote = modified(path);
    auto const stored = runlog::read_poller_sites(path);
    if (!stored) view.notes.push_back(stored.error().message());
    if (!stored || !*stored) return !stored;
    for (auto const& known : **stored)
        for (auto& site : view.sites)
            if (known.site == site.site) static_cast<runlog::PollerSite&>(site) = known;
    return true;
}

void take_read(std::optional<runlog::PayloadsRead>& sum, runlog::PayloadsRead const& read)
{
    if (!sum) sum.emplace();
    sum->round = read.round;
    sum->by_mpi += read.by_mpi;
    sum->from_store += read.from_store;
    sum->why_store = printable(read.why_store);
}

void take_trainer(SiteView& site, std::vector<runlog::Event> const& events)
{
    for (auto const& event : events) {
        if (auto const read = runlog::payloads_read_in(event)) take_read(site.payloads, *read);
        auto const change = runlog::state_change_in(event);
        if (!change || change->state.empty()) continue;
        site.trainer = printable(change->state);
        site.trainer_since = event.time;
    }
}

// Adds a note for each stream whose publisher fails.
void read_trouble(config::Run const& run, SitesView& view, SiteId const& site)
{
    for (auto const stream : journal::all_streams) {
        auto const text = read_file_if_exists(journal::trouble_file(run, site, stream), 1 << 16);
        if (text && *text) view.notes.push_back("not published: " + printable(**text));
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

SitesView read_sites(config::Run const& run, LogView const& logs)
{
    SitesView view;
    for (auto const& site : run.sites) {
        view.sites.emplace_back();
        view.sites.back().site = site.site;
        view.sites.back().failures_before_hold = site.launch.failures_before_hold;
    }
    bool has_poller = read_poller(run, view);
    for (std::size_t s = 0; s < view.sites.size(); ++s) {
        auto& site = view.sites[s];
        read_permission(run, view, site);
        read_trouble(run, view, site.site);
        if (!logs.sites.at(s)) continue;
        auto const& log = *logs.sites[s];
        has_poller = has_poller || !log.poller_events.empty();
        if (!site.polled && site.window.empty()) take_poller_events(site, log.poller_events);
        take_trainer(site, log.events);
        auto const publication = account::publication_of(log);
        if (publication.is_remote) site.published_until = publication.until;
    }
    if (!has_poller) view.notes.insert(view.notes.begin(), "no poller has run for this run yet");
    return view;
}

}  // namespace curtail::status
