// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/watch.hpp"

namespace curtail::protocol::site {

void Watch::observe(Commit const& tip, MonoTime now)
{
    std::map<MemberId, Sighting> members;
    for (auto const& m : tip.members) {
        auto const it = members_.find(m.id);
        bool const same =
            it != members_.end() && it->second.seq == m.seq && it->second.seen == m.seen;
        bool const starts = same && !it->second.has_blocks && !m.held.empty();
        members[m.id] = {m.seq, m.seen, !m.held.empty(), same && !starts ? it->second.since : now};
    }
    members_ = std::move(members);
}

void Watch::input(MonoTime now, Millis skew)
{
    if (last_input_ != MonoTime{} && now - last_input_ > skew) restart(now);
    last_input_ = now;
}

void Watch::answered(StoreUse use, MonoTime now, Millis skew)
{
    if (questions_.are_outage(now, skew)) restart(now);
    questions_ = {};
    if (use == StoreUse::read) return;
    if (writes_.are_outage(now, skew)) restart(now);
    writes_ = {};
}

void Watch::failed(StoreUse use, MonoTime now, Millis skew)
{
    questions_.add(now);
    if (use == StoreUse::read) return;
    writes_.add(now);
    if (writes_.are_outage(now, skew)) restart(now);
}

void Watch::Failures::add(MonoTime now)
{
    if (count++ == 0) first = now;
}

bool Watch::Failures::are_outage(MonoTime now, Millis skew) const
{
    constexpr int fewest = 3;
    return count >= fewest && now - first > skew;
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

}  // namespace curtail::protocol::site
