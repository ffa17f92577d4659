// SPDX-License-Identifier: Apache-2.0
#include "run/permission/issue.hpp"

#include <algorithm>

namespace curtail::permission {
namespace {

constexpr Millis shortest_default{30'000};

Time end_of(Verdict const& verdict, IssuePolicy const& policy, Time now)
{
    if (!verdict.may_train) return now;
    auto const end = now + policy.lifetime;
    if (!verdict.closes) return end;
    return std::clamp(*verdict.closes + 2 * policy.poll_period, now, end);
}

// Whether `present` may stay although a new permission would end at `end`.
bool may_stay(Permission const& present, Verdict const& verdict, Time end,
              IssuePolicy const& policy, Time now)
{
    if (!is_plausible(present.serial, now)) return false;
    bool const same_verdict =
        present.is_withdrawn() != verdict.may_train && present.why == verdict.why;
    if (!same_verdict || present.issued > now) return false;
    if (!verdict.may_train) return true;
    auto const interval = std::min(policy.poll_period / 2, policy.lifetime / 4);
    return now - present.issued < interval && present.until <= end;
}

}  // namespace

Millis default_lifetime(Millis poll_period, Millis close_delay)
{
    return std::max(shortest_default, 2 * poll_period + close_delay);
}

std::optional<Permission> renew(std::optional<Permission> const& present, RunId const& run,
                                SiteId const& site, Verdict const& verdict,
                                IssuePolicy const& policy, Time now)
{
    if (present && may_stay(*present, verdict, end_of(verdict, policy, now), policy, now))
        return std::nullopt;
    return issue(present, run, site, verdict, policy, now);
}

Permission issue(std::optional<Permission> const& present, RunId const& run, SiteId const& site,
                 Verdict const& verdict, IssuePolicy const& policy, Time now)
{
    auto const end = end_of(verdict, policy, now);
    // A job accepts only a higher serial. The time makes it higher even if the file was lost.
    bool const has_serial = present && is_plausible(present->serial, now);
    auto const serial = std::max(has_serial ? present->serial + 1 : 0, to_unix_ms(now));
    return {run, site, serial, now, end - now, end, verdict.why};
}

}  // namespace curtail::permission
