// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/recovery.hpp"

#include <algorithm>
#include <map>

#include "poller/plan/record.hpp"
#include "run/permission/operator_hold.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

// Jobs that were submitted and have not ended, with the start time of those that run.
using OpenJobs = std::map<std::pair<SiteId, plan::JobId>, std::optional<Time>>;

OpenJobs find_open_jobs(std::vector<runlog::Event> const& events)
{
    using Type = runlog::JobChange::Type;
    OpenJobs open;
    for (auto const& event : events) {
        auto const change = runlog::job_change_in(event);
        if (!change) continue;
        std::pair const job{SiteId{event.site}, plan::JobId{change->job}};
        if (change->type == Type::submitted) open[job];
        if (change->type == Type::ended) open.erase(job);
        auto const known = open.find(job);
        if (change->type == Type::started && known != open.end())
            known->second = change->at.value_or(event.time);
    }
    return open;
}

// Applies an entry to the site's jobs. Returns the events that follow from it.
std::vector<runlog::Event> apply(plan::SiteState& jobs, JournalEntry const& entry)
{
    if (!entry.outcome) {
        jobs = plan::begin(std::move(jobs), entry.action, entry.time);
        return {};
    }
    auto update = plan::finish(std::move(jobs), entry.action, *entry.outcome, entry.time, {});
    jobs = std::move(update.state);
    return runlog::to_events(update.events, entry.time, entry.site.value);
}

void replay_journal(StoredState& state, std::vector<JournalEntry> const& journal)
{
    for (auto const& entry : journal) {
        state.add_events(entry.site, apply(state.sites[entry.site].jobs, entry));
        state.last_entry = entry.number;
    }
}

// The journal's account of jobs, from its first entry. The journal does not contain their ends.
void replay_whole_journal(StoredState& state, std::vector<JournalEntry> const& journal)
{
    for (auto const& entry : journal) {
        auto& jobs = state.sites[entry.site].jobs;
        // Job numbers repeat if a cluster was reinstalled: the later job counts.
        if (entry.outcome && entry.action.type == plan::ActionType::submit)
            std::erase_if(jobs.jobs, [&](auto const& job) { return job.id == entry.outcome->job; });
        (void)apply(jobs, entry);
        state.last_entry = std::max(state.last_entry, entry.number);
    }
}

// The open intent and jobs, without failures: these depend on how earlier jobs ended.
plan::SiteState keep_open(SiteId const& site, plan::SiteState const& journaled,
                          OpenJobs const& open)
{
    plan::SiteState kept;
    kept.intent = journaled.intent;
    for (auto job : journaled.jobs) {
        auto const found = open.find({site, job.id});
        if (found == open.end()) continue;
        job.running_since = found->second;
        kept.jobs.push_back(std::move(job));
    }
    return kept;
}

constexpr std::string_view operator_cause = "operator";

// Repeats what update_holds() did when it wrote the event.
void apply(HoldRecord& holds, runlog::HoldChange const& change, Time time)
{
    if (change.cause == operator_cause) {
        holds.operators = change.held ? permission::to_text({change.by, change.why}) : "";
        return;
    }
    if (change.serial) holds.applied_serial = std::max(holds.applied_serial, *change.serial);
    if (!change.held) holds.automatic.reset();
    auto const cause = parse_cause(change.cause);
    if (change.held && cause)
        holds.automatic = {{*cause, change.why}, time, change.signal_time.value_or(time)};
}

StoredState rebuild(FolderContents const& contents)
{
    StoredState state;
    state.last_event = runlog::highest_number(contents.events);
    replay_whole_journal(state, contents.journal);
    auto const open = find_open_jobs(contents.events);
    for (auto& [site, record] : state.sites) record.jobs = keep_open(site, record.jobs, open);
    for (auto const& event : contents.events) {
        SiteId const site{event.site};
        if (auto const change = runlog::hold_change_in(event))
            apply(state.sites[site].holds, *change, event.time);
        auto const time = runlog::signal_time_of(event);
        if (!time) continue;
        auto& until = state.sites[site].written_until.try_emplace(event.type, *time).first->second;
        until = std::max(until, *time);
    }
    return state;
}

// Each site has a file of its own: a crash of the machine may lose the end of one of them.
void drop_written(StoredState& state, std::vector<runlog::Event> const& events)
{
    std::map<std::string, std::vector<runlog::Event>> by_site;
    for (auto const& event : events) by_site[event.site].push_back(event);
    std::erase_if(state.outbox, [&](NumberedEvent const& waiting) {
        auto const written = by_site.find(waiting.event.site);
        return written != by_site.end() &&
               waiting.number <= runlog::highest_number(written->second);
    });
}

}  // namespace

StoredState recover(FolderContents contents, std::vector<SiteId> const& sites, Time now)
{
    StoredState state;
    if (contents.state) {
        state = std::move(*contents.state);
        replay_journal(state, contents.journal);
        drop_written(state, contents.events);
    } else {
        state = rebuild(contents);
    }
    for (auto const& site : sites) state.sites.try_emplace(site);
    for (auto& [site, record] : state.sites) record.jobs = plan::recover(record.jobs, now);
    return state;
}

bool is_written(SiteRecord const& site, runlog::Event const& event)
{
    auto const known = site.written_until.find(event.type);
    if (known == site.written_until.end()) return false;
    auto const time = runlog::signal_time_of(event);
    return time && *time <= known->second;
}

}  // namespace curtail::poll
