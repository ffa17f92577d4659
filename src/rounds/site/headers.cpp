// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/reading.hpp"
#include "rounds/site/steps.hpp"

/// Finding pending contributions: by exact name, after each member's last decided one.
namespace curtail::rounds::site {

void begin_scan(Parts& p, std::vector<MemberId> members)
{
    p.scanned = std::move(members);
    p.scan_at = 0;
    p.unresolved.clear();
    for (auto const& own : p.undecided)
        if (own.published)
            p.headers[{own.header.member, own.header.seq}] = {own.header, own.encoded->sha256, {}};
}

std::vector<MemberId> others(Parts const& p)
{
    std::vector<MemberId> ids;
    for (auto const& m : p.tip->members)
        if (m.id != p.member) ids.push_back(m.id);
    return ids;
}

/// Members of this site that started before this process.
std::vector<MemberId> earlier_instances(Parts const& p)
{
    std::vector<MemberId> ids;
    auto const mine = p.member ? member_parts(*p.member).admitted : CommitNumber{INT64_MAX};
    for (auto const& m : p.tip->members) {
        auto const parts = member_parts(m.id);
        if (m.site == p.config.process.site && parts.process != p.config.process &&
            parts.admitted < mine)
            ids.push_back(m.id);
    }
    return ids;
}

bool act_scan(Parts& p)
{
    for (; p.scan_at < p.scanned.size(); ++p.scan_at) {
        auto const* m = p.tip->find(p.scanned[p.scan_at]);
        if (m == nullptr) continue;
        Seq seq = m->seq.next();
        while (p.headers.contains({m->id, seq})) seq = seq.next();
        if (seq.value > m->seq.value + p.run.params.max_undecided + 1) continue;
        p.asked = {m->id, seq};
        p.machine.get(header_name(m->id, seq));
        return true;
    }
    return false;
}

/// Pauses grow per name only, so that many bad names do not delay a site for long.
void answered_scan(Parts& p, Input const& input)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    if (unknown != nullptr && retry_unanswered(p, *unknown)) return;
    if (unknown == nullptr) p.unread.erase(p.asked);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!found_header(p, got->bytes)) return p.machine.retry(p.machine.phase());
    } else ++p.scan_at;
    p.machine.set_tries(0);
}

/// No answer does not mean that the header is missing. A process that is not yet a member asks
/// again without limit, unless the error lasts. True if it asks again.
bool retry_unanswered(Parts& p, Unknown const& unknown)
{
    bool const persists = lasting(unknown.code);
    bool const enough = p.machine.stopping() || p.machine.tries() >= tries_limit;
    if (!enough || (!p.member && !persists)) {
        p.machine.retry(p.machine.phase());
        return true;
    }
    if (persists)
        p.unread.try_emplace(p.asked, Unread{p.machine.now(), {}}).first->second.why = unknown.why;
    else p.unread.erase(p.asked);
    if (!unreadable_for_long(p, p.asked)) p.unresolved.insert(p.asked.first);
    return false;
}

/// True if no scan could read it for as long as makes a silent member suspect. Further waiting
/// would block the member's blocks forever. A starter scans rarely and leaves the removal to
/// members.
bool unreadable_for_long(Parts const& p, Key const& key)
{
    auto const it = p.unread.find(key);
    return p.member && it != p.unread.end() &&
           p.machine.now() - it->second.since >= p.run.params.drop_after + p.run.params.skew;
}

/// False: its bytes are invalid and must be read again.
bool found_header(Parts& p, std::string const& bytes)
{
    auto const& [member, seq] = p.asked;
    auto const name = header_name(member, seq);
    auto const digest = sha256(bytes);
    if (auto header = decode_header(bytes, name)) {
        p.headers[p.asked] = {std::move(*header), digest, {}};
        return true;
    }
    auto const bad = ++p.bad_headers[name];
    p.machine.set_tries(bad - 1);  // ignore tries without an answer: read again soon
    if (bad < reads_limit) return false;
    p.headers[p.asked] = unreadable(p.run, member, seq, digest);
    return true;
}

Found const* header_of(Parts const& p, MemberId const& id)
{
    auto const* m = p.tip->find(id);
    if (m == nullptr) return nullptr;
    auto const it = p.headers.find({id, m->seq.next()});
    return it == p.headers.end() ? nullptr : &it->second;
}

bool suspect(Parts const& p, Member const& m) { return is_suspect(p.run.params, m, store_now(p)); }

/// Removes only a member whose next header was asked for and is missing or unreadable: a removal
/// discards announced work.
void propose_removal(Parts& p, MemberId const& id, Removal reason)
{
    if (header_of(p, id) != nullptr || p.unresolved.contains(id)) return;
    auto const seq = p.tip->find(id)->seq;
    if (auto const it = p.unread.find({id, seq.next()}); it != p.unread.end())
        p.machine.note("header-unreadable", json::Object{{"member", id.value},
                                                         {"name", header_name(id, seq.next())},
                                                         {"why", it->second.why}});
    p.intents.remove[id] = reason;
    p.scanned_seq[id] = seq;
}

void forget_decided(Parts& p)
{
    auto const decided = [&](auto const& entry) {
        auto const* m = p.tip->find(entry.first.first);
        return m == nullptr || entry.first.second <= m->seq;
    };
    std::erase_if(p.headers, decided);
    std::erase_if(p.absent_payloads, decided);
    std::erase_if(p.unread, decided);
}

}  // namespace curtail::rounds::site
