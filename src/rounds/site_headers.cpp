// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/reading.hpp"
#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// Finding pending contributions: by exact name, after each member's last decided one.
namespace curtail::rounds {

void Site::begin_scan(std::vector<MemberId> members)
{
    scanned_ = std::move(members);
    scan_at_ = 0;
    unresolved_.clear();
    for (auto const& own : undecided_)
        if (own.published)
            headers_[{own.header.member, own.header.seq}] = {own.header, own.encoded->sha256, {}};
}

std::vector<MemberId> Site::others() const
{
    std::vector<MemberId> ids;
    for (auto const& m : tip_->members)
        if (m.id != member_) ids.push_back(m.id);
    return ids;
}

/// Members of this site that started before this process.
std::vector<MemberId> Site::earlier_instances() const
{
    std::vector<MemberId> ids;
    auto const mine = member_ ? member_parts(*member_).admitted : CommitNumber{INT64_MAX};
    for (auto const& m : tip_->members) {
        auto const parts = member_parts(m.id);
        if (m.site == config_.process.site && parts.process != config_.process &&
            parts.admitted < mine)
            ids.push_back(m.id);
    }
    return ids;
}

bool Site::act_scan()
{
    for (; scan_at_ < scanned_.size(); ++scan_at_) {
        auto const* m = tip_->find(scanned_[scan_at_]);
        if (m == nullptr) continue;
        Seq seq = m->seq.next();
        while (headers_.contains({m->id, seq})) seq = seq.next();
        if (seq.value > m->seq.value + run_.params.max_undecided + 1) continue;
        asked_ = {m->id, seq};
        get(header_name(m->id, seq));
        return true;
    }
    return false;
}

/// Pauses grow per name only, so that many bad names do not delay a site for long.
void Site::answered_scan(Input const& input)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    if (unknown != nullptr && retry_unanswered(*unknown)) return;
    if (unknown == nullptr) unread_.erase(asked_);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!found_header(got->bytes)) return retry(phase_);
    } else ++scan_at_;
    tries_ = 0;
}

/// No answer does not mean that the header is missing. A process that is not yet a member asks
/// again without limit, unless the error lasts. True if it asks again.
bool Site::retry_unanswered(Unknown const& unknown)
{
    bool const lasting = detail::lasting(unknown.code);
    bool const enough = deadline_ || tries_ >= detail::tries_limit;
    if (!enough || (!member_ && !lasting)) {
        retry(phase_);
        return true;
    }
    if (lasting) unread_.try_emplace(asked_, Unread{now_, {}}).first->second.why = unknown.why;
    else unread_.erase(asked_);
    if (!unreadable_for_long(asked_)) unresolved_.insert(asked_.first);
    return false;
}

/// True if no scan could read it for as long as makes a silent member suspect. Further waiting
/// would block the member's blocks forever. A starter scans rarely and leaves the removal to
/// members.
bool Site::unreadable_for_long(Key const& key) const
{
    auto const it = unread_.find(key);
    return member_ && it != unread_.end() &&
           now_ - it->second.since >= run_.params.drop_after + run_.params.skew;
}

/// False: its bytes are invalid and must be read again.
bool Site::found_header(std::string const& bytes)
{
    auto const& [member, seq] = asked_;
    auto const name = header_name(member, seq);
    auto const digest = sha256(bytes);
    if (auto header = decode_header(bytes, name)) {
        headers_[asked_] = {std::move(*header), digest, {}};
        return true;
    }
    auto const bad = ++bad_headers_[name];
    tries_ = bad - 1;  // ignore tries without an answer: read again soon
    if (bad < detail::reads_limit) return false;
    headers_[asked_] = unreadable(run_, member, seq, digest);
    return true;
}

Found const* Site::header_of(MemberId const& id) const
{
    auto const* m = tip_->find(id);
    if (m == nullptr) return nullptr;
    auto const it = headers_.find({id, m->seq.next()});
    return it == headers_.end() ? nullptr : &it->second;
}

bool Site::suspect(Member const& m) const
{
    return is_suspect(run_.params, m, store_now());
}

/// Removes only a member whose next header was asked for and is missing or unreadable: a removal
/// discards announced work.
void Site::propose_removal(MemberId const& id, Removal reason)
{
    if (header_of(id) != nullptr || unresolved_.contains(id)) return;
    auto const seq = tip_->find(id)->seq;
    if (auto const it = unread_.find({id, seq.next()}); it != unread_.end())
        note("header-unreadable", json::Object{{"member", id.value},
                                               {"name", header_name(id, seq.next())},
                                               {"why", it->second.why}});
    intents_.remove[id] = reason;
    scanned_seq_[id] = seq;
}

void Site::forget_decided()
{
    auto const decided = [&](auto const& entry) {
        auto const* m = tip_->find(entry.first.first);
        return m == nullptr || entry.first.second <= m->seq;
    };
    std::erase_if(headers_, decided);
    std::erase_if(absent_payloads_, decided);
    std::erase_if(unread_, decided);
}

}  // namespace curtail::rounds
