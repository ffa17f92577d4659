// SPDX-License-Identifier: Apache-2.0
#include "poll/job_events.hpp"

#include "runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

runlog::JobChange::Type change_type(plan::JobEventType type)
{
    using From = plan::JobEventType;
    using To = runlog::JobChange::Type;
    switch (type) {
        case From::submitted:
            return To::submitted;
        case From::started:
            return To::started;
        case From::drained:
            return To::drained;
        case From::cancelled:
            return To::cancelled;
        case From::ended:
            return To::ended;
        case From::failed:
            return To::failed;
    }
    __builtin_unreachable();
}

runlog::JobChange job_change(plan::JobEvent const& event)
{
    runlog::JobChange change;
    change.type = change_type(event.type);
    change.window = event.window.value;
    change.job = event.job.value;
    bool const is_stop =
        event.type == plan::JobEventType::drained || event.type == plan::JobEventType::cancelled;
    (is_stop ? change.why : change.state) = event.detail;
    change.at = event.time;
    change.exit_code = event.exit_code;
    change.backoff = event.retry_after;
    return change;
}

}  // namespace

std::vector<runlog::Event> job_events(SiteId const& site, std::vector<plan::JobEvent> const& events,
                                      Time real_now)
{
    std::vector<runlog::Event> lines;
    lines.reserve(events.size());
    for (auto const& event : events)
        lines.push_back(runlog::to_event(job_change(event), real_now, site.value));
    return lines;
}

}  // namespace curtail::poll
