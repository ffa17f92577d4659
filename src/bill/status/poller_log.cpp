// SPDX-License-Identifier: Apache-2.0
#include "bill/status/poller_log.hpp"

#include <algorithm>

#include "base/core/text.hpp"
#include "run/permission/operator_hold.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::status {
namespace {

using runlog::JobChange;

void take(runlog::PollerSite& site, windows::PhaseChange const& change)
{
    site.window = windows::to_string(change.to);
    site.closing_since =
        change.to == windows::Phase::closing ? std::optional(change.time) : std::nullopt;
}

runlog::PollerJob& job_of(runlog::PollerSite& site, std::string const& id)
{
    auto const found = std::find_if(site.jobs.begin(), site.jobs.end(),
                                    [&](auto const& job) { return job.id == id; });
    return found != site.jobs.end() ? *found : site.jobs.emplace_back(runlog::PollerJob{id, {}});
}

void take(runlog::PollerSite& site, JobChange const& change, Time time)
{
    auto const id = printable(change.job);
    switch (change.type) {
        case JobChange::Type::submitted:
            (void)job_of(site, id);
            return;
        case JobChange::Type::started:
            job_of(site, id).running_since = change.at.value_or(time);
            return;
        case JobChange::Type::drained:
            job_of(site, id).leaving = true;
            return;
        case JobChange::Type::failed:
            site.failure = printable(change.state);
            site.retry_at = time + change.retry_after.value_or(Millis{0});
            break;
        case JobChange::Type::cancelled:
        case JobChange::Type::ended:
            break;
    }
    std::erase_if(site.jobs, [&](auto const& job) { return job.id == id; });
}

}  // namespace

void take_poller_events(runlog::PollerSite& site, std::vector<runlog::Event> const& events)
{
    for (auto const& event : events) {
        if (auto const phase = runlog::phase_change_in(event)) take(site, *phase);
        if (auto const job = runlog::job_change_in(event)) take(site, *job, event.time);
        auto const hold = runlog::hold_change_in(event);
        if (!hold) continue;
        if (hold->cause == "operator")
            site.operators =
                hold->held ? printable(permission::to_text({hold->by, hold->why})) : "";
        else site.hold = hold->held ? printable(hold->why) : "";
    }
}

}  // namespace curtail::status
