// SPDX-License-Identifier: Apache-2.0
#include "status/site_view.hpp"

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

// A member of what may be no object at all.
json::Value const* member(json::Value const* value, std::string_view key)
{
    auto const* object = value != nullptr ? value->as_object() : nullptr;
    return object != nullptr ? object->find(key) : nullptr;
}

std::string text_at(json::Value const* value, std::string_view key)
{
    auto const* found = member(value, key);
    return found != nullptr && found->as_text() != nullptr ? printable(*found->as_text()) : "";
}

std::optional<Time> time_at(json::Value const* value, std::string_view key)
{
    auto const time = parse_time(text_at(value, key));
    return time ? std::optional(*time) : std::nullopt;
}

json::Array const& list_at(json::Value const* value, std::string_view key)
{
    static json::Array const none;
    auto const* found = member(value, key);
    return found != nullptr && found->as_array() != nullptr ? *found->as_array() : none;
}

JobView job_of(json::Value const& stored)
{
    return {text_at(&stored, "id"), time_at(&stored, "running_since"),
            time_at(&stored, "asked_since").has_value()};
}

void take_poller(json::Value const& stored, SiteView& site)
{
    auto const* window = member(&stored, "window");
    site.window = text_at(window, "phase");
    site.closing_since = time_at(window, "closing_since");
    site.evaluated_until = time_at(&stored, "evaluated_until");
    auto const* jobs = member(&stored, "jobs");
    for (auto const& job : list_at(jobs, "jobs")) site.jobs.push_back(job_of(job));
    site.submitting =
        member(jobs, "intent") != nullptr && member(jobs, "intent")->as_object() != nullptr;
    if (auto const* failures = member(jobs, "failures");
        failures != nullptr && failures->as_integer() != nullptr)
        site.failures = static_cast<int>(*failures->as_integer());
    site.retry_at = time_at(jobs, "retry_at");
    site.failure = text_at(jobs, "failure");
}

void read_poller(config::Run const& run, SitesView& view)
{
    auto const path = run.poller_folder() / "state.json";
    auto const text = read_file_if_exists(path, json::document_limits.bytes);
    if (text && !*text) {
        view.notes.push_back("no poller has run for this run yet");
        return;
    }
    auto const state = text ? json::parse(**text, path.string())
                            : Result<json::Value>(tl::unexpected(text.error()));
    if (!state) {
        view.notes.push_back(state.error().message());
        return;
    }
    for (auto const& stored : list_at(&*state, "sites"))
        for (auto& site : view.sites)
            if (text_at(&stored, "site") == site.site.value) take_poller(stored, site);
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
