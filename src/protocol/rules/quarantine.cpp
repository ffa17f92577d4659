// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/quarantine.hpp"

#include <algorithm>

namespace curtail::protocol {

void count_refusal(std::optional<Refusal> refused, Member& member)
{
    bool const counts =
        refused == Refusal::nan || refused == Refusal::norm || refused == Refusal::digest;
    if (!refused) member.refused = 0;
    else if (counts) ++member.refused;
}

void begin_quarantine(RunSpec const& run, SiteId const& site, Refusal reason, Commit& commit)
{
    auto const until = commit.time + 5 * run.params.round_time;
    std::erase_if(commit.quarantine, [&](Quarantine const& q) { return q.site == site; });
    auto const at = std::ranges::upper_bound(commit.quarantine, site, {}, &Quarantine::site);
    commit.quarantine.insert(at, {site, until, reason});
}

void end_quarantines(Commit& commit)
{
    std::erase_if(commit.quarantine, [&](Quarantine const& q) { return q.until <= commit.time; });
}

Quarantine const* quarantine_of(Commit const& tip, SiteId const& site, Time now)
{
    auto const it = std::ranges::find_if(
        tip.quarantine, [&](Quarantine const& q) { return q.site == site && now < q.until; });
    return it == tip.quarantine.end() ? nullptr : &*it;
}

bool may_enter(Commit const& tip, SiteId const& site, Time now)
{
    return std::ranges::count(tip.terms.sites, site) > 0 &&
           quarantine_of(tip, site, now) == nullptr;
}

}  // namespace curtail::protocol
