// SPDX-License-Identifier: Apache-2.0
#include "reference/parts.hpp"

namespace curtail::reference {
namespace {

account::RoundPart part_of(RoundPart const& p, Round const& r)
{
    return {p.client,
            p.steps,
            p.steps * step_tokens,
            static_cast<double>(p.steps) / static_cast<double>(r.steps),
            seconds_between(r.start, p.first_step),
            p.training.count(),
            seconds_between(p.last_step, r.end)};
}

account::RoundAccount round_of(Logs const& logs, Round const& r)
{
    account::RoundAccount round;
    round.number = r.number;
    round.start_s = logs.seconds(r.start);
    round.end_s = logs.seconds(r.end);
    round.duration = seconds_between(r.start, r.end);
    if (r.merged) {
        round.merged_s = logs.seconds(*r.merged);
        round.merge = seconds_between(r.end, *r.merged);
    }
    for (auto const& p : r.parts) round.parts.push_back(part_of(p, r));
    round.steps = r.steps;
    round.last_step = static_cast<double>(r.last_step);
    round.tokens = r.steps * step_tokens;
    round.loss = r.loss;
    return round;
}

account::SiteWork work_of_site(std::size_t client, std::vector<account::RoundAccount> const& rounds)
{
    account::SiteWork work;
    for (auto const& round : rounds)
        for (auto const& part : round.parts) {
            if (part.site != client) continue;
            work.tokens += part.tokens;
            ++(round.joint() ? work.joint_rounds : work.lone_rounds);
        }
    return work;
}

account::RoundSummary summary_of(RoundTimes const& times)
{
    return {times.joint_rounds, times.duration,        times.before_first_step,
            times.training,     times.after_last_step, times.merge};
}

}  // namespace

account::Work work_of(Logs const& logs, History const& history)
{
    account::Work work;
    for (auto const& r : history.rounds) {
        auto const& round = work.rounds.emplace_back(round_of(logs, r));
        work.tokens += round.tokens;
        ++(round.joint() ? work.commits.joint : work.commits.lone);
    }
    for (std::size_t c = 0; c < Logs::clients.size(); ++c)
        work.sites.push_back(work_of_site(c, work.rounds));
    work.summary = summary_of(round_times(logs, history));
    return work;
}

}  // namespace curtail::reference
