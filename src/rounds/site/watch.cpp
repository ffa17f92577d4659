// SPDX-License-Identifier: Apache-2.0
#include "rounds/site/watch.hpp"

namespace curtail::rounds::site {

void Watch::observe(Commit const& tip, MonoTime now)
{
    std::map<MemberId, Seen> members;
    for (auto const& m : tip.members) {
        auto const it = members_.find(m.id);
        bool const same =
            it != members_.end() && it->second.seq == m.seq && it->second.seen == m.seen;
        members[m.id] = {m.seq, m.seen, same ? it->second.since : now};
    }
    members_ = std::move(members);
}

void Watch::input(MonoTime now, Millis skew)
{
    if (last_input_ != MonoTime{} && now - last_input_ > skew) restart(now);
    last_input_ = now;
}

void Watch::answered(MonoTime now, Millis skew)
{
    constexpr int questions_of_an_outage = 3;
    if (unanswered_ >= questions_of_an_outage && now - first_unanswered_ > skew) restart(now);
    unanswered_ = 0;
}

void Watch::unanswered(MonoTime now)
{
    if (unanswered_++ == 0) first_unanswered_ = now;
}

Millis Watch::silent_for(MemberId const& member, MonoTime now) const
{
    auto const it = members_.find(member);
    return it == members_.end() ? Millis{0} : now - it->second.since;
}

void Watch::restart(MonoTime now)
{
    for (auto& [id, seen] : members_) seen.since = now;
}

}  // namespace curtail::rounds::site
