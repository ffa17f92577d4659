// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/scan.hpp"

#include <algorithm>

#include "protocol/site/limits.hpp"

namespace curtail::protocol::site {

void Scan::begin(std::vector<MemberId> members)
{
    members_ = std::move(members);
    at_ = 0;
    unresolved_.clear();
    repeats_ = false;
}

std::optional<Key> Scan::next(Commit const& tip, PendingContributions const& pending,
                              Params const& params)
{
    for (; at_ < members_.size(); ++at_) {
        auto const* m = tip.find(members_[at_]);
        if (m == nullptr) continue;
        Seq seq = m->seq.next();
        while (pending.contains({m->id, seq})) seq = seq.next();
        if (seq.value > m->seq.value + params.max_undecided + 1) continue;
        return asked_ = {m->id, seq};
    }
    return std::nullopt;
}

void Scan::answered(Input const& input, RunSpec const& run, bool is_member,
                    PendingContributions& pending, Machine& machine)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    if (unknown != nullptr && retry(*unknown, run.params, is_member, machine)) return;
    if (unknown == nullptr) unread_.erase(asked_);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!take(got->bytes, pending, machine.now())) ++at_;
    } else ++at_;
    machine.set_tries(0);
}

// No answer does not mean that the header is missing. A process that is not yet a member asks
// again without limit, unless the error lasts. True if it asks again.
bool Scan::retry(Unknown const& unknown, Params const& params, bool is_member, Machine& machine)
{
    bool const persists = is_lasting_error(unknown.code);
    bool const enough = machine.stopping() || machine.tries() >= tries_limit;
    if (!enough || (!is_member && !persists)) {
        machine.retry(machine.phase());
        return true;
    }
    if (persists)
        unread_.try_emplace(asked_, UnreadableHeader{machine.now(), {}}).first->second.why =
            unknown.why;
    else unread_.erase(asked_);
    // No scan could read it for as long as makes a silent member suspect. Further waiting would
    // block the member's blocks forever. A starter scans rarely and leaves the removal to members.
    auto const it = unread_.find(asked_);
    bool const for_long =
        it != unread_.end() && machine.now() - it->second.since >= params.drop_after + params.skew;
    if (!is_member || !for_long) unresolved_.insert(asked_.first);
    return false;
}

// False: the bytes are invalid.
bool Scan::take(std::string const& bytes, PendingContributions& pending, MonoTime now)
{
    auto header = decoder_->header(bytes, header_name(asked_.first, asked_.second));
    if (header) {
        invalid_.erase(asked_);
        pending.add(asked_, {std::move(*header), sha256(bytes), {}});
        return true;
    }
    auto& invalid = invalid_.try_emplace(asked_, Invalid{0, now, {}}).first->second;
    ++invalid.reads;
    invalid.why = header.error().message();
    bool const unreadable = invalid.reads >= reads_limit && now - invalid.since >= unreadable_after;
    if (unreadable) return false;
    unresolved_.insert(asked_.first);
    repeats_ = true;
    return false;
}

std::string const* Scan::unread(Key const& key) const
{
    if (auto const it = unread_.find(key); it != unread_.end()) return &it->second.why;
    auto const it = invalid_.find(key);
    return it == invalid_.end() ? nullptr : &it->second.why;
}

void Scan::forget_decided(Commit const& tip)
{
    auto const decided = [&](auto const& entry) { return is_decided(tip, entry.first); };
    std::erase_if(unread_, decided);
    std::erase_if(invalid_, decided);
}

}  // namespace curtail::protocol::site
