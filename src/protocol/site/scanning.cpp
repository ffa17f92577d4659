// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/records/reading.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// Steps around a scan for pending contributions.
namespace curtail::protocol::site {

void begin_scan(Parts& p, std::vector<MemberId> members)
{
    p.scan.begin(std::move(members));
    for (auto const& own : p.contributions.undecided())
        if (own.published)
            p.pending.add({own.header.member, own.header.seq},
                          {own.header, own.encoded->sha256,
                           own.unusable ? std::optional(Refusal::digest) : std::nullopt});
}

bool act_scan(Parts& p)
{
    auto const key = p.scan.next(*p.chain.tip(), p.pending, p.chain.run().params);
    if (!key) return false;
    p.machine.get(header_name(key->first, key->second));
    return true;
}

bool repeat_scan(Parts& p, std::vector<MemberId> members)
{
    constexpr Seconds pause{5};
    if (!p.scan.must_repeat()) return false;
    begin_scan(p, std::move(members));
    p.machine.pause_until(p.machine.now() + pause);
    return true;
}

void answered_scan(Parts& p, Input const& input)
{
    p.scan.answered(input, p.chain.run(), p.member.has_value(), p.pending, p.machine);
}

KnownContribution const* find_contribution(Parts const& p, MemberId const& id)
{
    auto const* m = p.chain.tip()->find(id);
    return m == nullptr ? nullptr : p.pending.next_of(*m);
}

void propose_removal(Parts& p, MemberId const& id, Removal reason)
{
    auto const* m = p.chain.tip()->find(id);
    bool const found = m != nullptr && p.pending.contains({id, m->seq.next()});
    if (found || p.scan.unresolved(id)) return;
    auto const seq = p.chain.tip()->find(id)->seq;
    if (auto const* why = p.scan.unread({id, seq.next()}))
        p.machine.send(header_unreadable_note(id, header_name(id, seq.next()), *why));
    p.proposal.remove(id, reason, seq);
}

std::vector<MemberId> others(Parts const& p)
{
    std::vector<MemberId> ids;
    for (auto const& m : p.chain.tip()->members)
        if (m.id != p.member) ids.push_back(m.id);
    return ids;
}

bool is_twin(Parts const& p, Member const& m)
{
    return m.site == p.config.process.site && member_parts(m.id).process != p.config.process;
}

std::vector<MemberId> earlier_instances(Parts const& p)
{
    std::vector<MemberId> ids;
    auto const mine = p.member ? member_parts(*p.member).admitted : CommitNumber{INT64_MAX};
    for (auto const& m : p.chain.tip()->members) {
        bool const earlier = is_twin(p, m) && member_parts(m.id).admitted < mine;
        if (earlier && p.predecessors.has_ended(m.id)) ids.push_back(m.id);
    }
    return ids;
}

bool suspect(Parts const& p, Member const& m)
{
    auto const& params = p.chain.run().params;
    if (!p.member) {
        auto judged = m;
        judged.seen = p.liveness.last_sign(m, store_now(p) + params.skew);
        return is_suspect(params, judged, store_now(p));
    }
    return p.watch.silent_for(m.id, p.machine.now()) > params.drop_after + params.skew;
}

}  // namespace curtail::protocol::site
