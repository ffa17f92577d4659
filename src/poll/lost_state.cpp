// SPDX-License-Identifier: Apache-2.0
#include "poll/book.hpp"

namespace curtail::poll {
namespace {

/// Jobs that were submitted and have not ended, with the moment since when they run.
using Going = std::map<std::pair<SiteId, plan::JobId>, std::optional<Time>>;

Going find_going(std::vector<runlog::Event> const& events)
{
    using Type = runlog::JobChange::Type;
    Going going;
    for (auto const& event : events) {
        auto const change = runlog::job_change_in(event);
        if (!change) continue;
        std::pair const job{SiteId{event.site}, plan::JobId{change->job}};
        if (change->type == Type::submitted) going[job];
        else if (change->type == Type::ended) going.erase(job);
        else if (auto const known = going.find(job);
                 change->type == Type::started && known != going.end())
            known->second = change->at.value_or(event.time);
    }
    return going;
}

}  // namespace

Result<void> Book::restore_lost_state(Time now)
{
    auto const file = runlog::read_events(folder_ / "events.jsonl");
    if (!file) return tl::unexpected(file.error());
    last_event_ = std::max(last_event_, runlog::highest_number(file->events));
    for (auto const& event : file->events) {
        if (auto const time = runlog::signal_time_of(event)) {
            auto& until =
                told_until_.try_emplace({SiteId{event.site}, event.type}, *time).first->second;
            until = std::max(until, *time);
        }
    }
    for (auto const* name : {"journal.1.jsonl", "journal.jsonl"}) {
        auto const entries = Journal(folder_ / name).read(0);
        if (!entries) return tl::unexpected(entries.error());
        for (auto const& entry : *entries) {
            auto& jobs = sites_[entry.site].jobs;
            // Numbers of jobs come again where a cluster was made anew: the later is meant.
            if (entry.outcome && entry.action.kind == plan::Action::Kind::submit)
                std::erase_if(jobs.jobs,
                              [&](auto const& job) { return job.id == entry.outcome->job; });
            if (entry.outcome)
                jobs = plan::finish(std::move(jobs), entry.action, *entry.outcome, entry.time, {})
                           .state;
            else jobs = plan::begin(std::move(jobs), entry.action, entry.time);
            last_entry_ = std::max(last_entry_, entry.number);
        }
    }
    auto const going = find_going(file->events);
    for (auto& [site, record] : sites_) {
        // The ends of jobs, and what they say about failures, are not in the journal.
        plan::SiteState known;
        known.intent = record.jobs.intent;
        for (auto& job : record.jobs.jobs) {
            auto const found = going.find({site, job.id});
            if (found == going.end()) continue;
            job.running_since = found->second;
            known.jobs.push_back(std::move(job));
        }
        record.jobs = plan::recover(std::move(known), now);
    }
    unsaved_ = true;
    return {};
}

bool Book::is_told(SiteId const& site, runlog::Event const& event) const
{
    auto const known = told_until_.find({site, event.type});
    if (known == told_until_.end()) return false;
    auto const time = runlog::signal_time_of(event);
    return time && *time <= known->second;
}

}  // namespace curtail::poll
