// SPDX-License-Identifier: Apache-2.0
#include "bill/account/accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bill/account/states_by_time.hpp"

namespace curtail::account {
namespace {

bool asks_for_whole_nodes(config::Site const& site)
{
    return std::ranges::count(site.launch.sbatch_options, "--exclusive") > 0;
}

}  // namespace

std::vector<AccountedJob> accounted_jobs(std::vector<Event> const& poller, SiteId const& site)
{
    std::map<std::pair<std::string, Time>, AccountedJob> jobs;
    for (auto const& event : poller) {
        auto const answer = runlog::accounting_in(event);
        if (!answer || event.site != site.value) continue;
        for (auto const& job : answer->jobs)
            if (job.started)
                jobs[{job.job, *job.started}] = {job,
                                                 {*job.started, job.ended.value_or(event.time)}};
    }
    std::vector<AccountedJob> out;
    out.reserve(jobs.size());
    for (auto& [key, job] : jobs) out.push_back(std::move(job));
    return out;
}

std::string last_answer(std::vector<Event> const& poller, SiteId const& site)
{
    std::string text;
    for (auto const& event : poller) {
        auto const answer = runlog::accounting_in(event);
        if (!answer || event.site != site.value) continue;
        text = answer->why.empty() ? fmt::format("{} jobs, asked at {}", answer->jobs.size(),
                                                 format_time(event.time))
                                   : "not checked: " + answer->why;
    }
    return text;
}

std::optional<SlurmEnergy> slurm_energy(std::vector<AccountedJob> const& jobs,
                                        SiteTimeline const& site)
{
    StatesByTime const states(site.held_real);
    SlurmEnergy sum;
    for (auto const& [job, when] : jobs) {
        if (!job.ended) continue;
        ++sum.jobs;
        if (!job.consumed_j) continue;
        auto const& settings = site.settings.at(when.from);
        sum.has_whole_nodes =
            (sum.metered == 0 || sum.has_whole_nodes) && asks_for_whole_nodes(settings);
        ++sum.metered;
        sum.joules += *job.consumed_j;
        sum.seconds += when.length().count();
        if (!settings.power) continue;
        for (auto const state : energy::all_states)
            sum.modelled +=
                (1 / settings.power->pue) * settings.power->of(state) *
                states.time_in(when, [&](energy::PowerState other) { return other == state; });
    }
    return sum.jobs > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace curtail::account
