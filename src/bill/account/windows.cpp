// SPDX-License-Identifier: Apache-2.0
#include "bill/account/parts.hpp"
#include "bill/account/steps_by_time.hpp"

namespace curtail::account {
namespace {

// Returns when the devices of the window's last job were released. A window without a job held
// none.
MaybeSeconds released_of(WindowTimeline const& window, SiteTimeline const& site, Axis const& axis)
{
    MaybeSeconds released = window.close_s;
    for (auto const& job : site.jobs)
        if (job.begin >= window.opened_at && job.begin < window.next_opened_at)
            released = job.end ? MaybeSeconds(axis.at(*job.end)) : std::nullopt;
    return released;
}

}  // namespace

std::vector<WindowAccount> windows_of(RunFiles const& files, Timeline const& timeline)
{
    std::vector<StepsByTime> steps;
    for (auto const& site : files.sites) steps.emplace_back(site.metrics);
    std::vector<WindowAccount> out;
    for (auto const& w : timeline.windows) {
        auto& window = out.emplace_back(w);
        window.released_s = released_of(w, timeline.sites[w.site], timeline.axis);
        if (w.first_step) window.first_step_s = timeline.axis.at(*w.first_step);
        auto const mine = steps[w.site].between(w.opened_at, w.next_opened_at);
        window.steps = static_cast<std::int64_t>(mine.size());
        if (!mine.empty()) window.last_step_s = timeline.axis.at(mine.back().time);
    }
    return out;
}

}  // namespace curtail::account
