// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/pending.hpp"

#include <algorithm>

namespace curtail::protocol::site {

bool is_decided(Commit const& tip, Key const& key)
{
    auto const* m = tip.find(key.first);
    return m == nullptr || key.second <= m->seq;
}

std::vector<KnownContribution> PendingContributions::all() const
{
    std::vector<KnownContribution> list;
    for (auto const& [key, known] : known_)
        if (!postponed_.contains(key)) list.push_back(known);
    return list;
}

KnownContribution const* PendingContributions::next_of(Member const& member) const
{
    auto const it = known_.find({member.id, member.seq.next()});
    return it == known_.end() || postponed_.contains(it->first) ? nullptr : &it->second;
}

Seq PendingContributions::last_of(Member const& member) const
{
    Seq last = member.seq;
    for (auto const& [key, known] : known_)
        if (key.first == member.id) last = std::max(last, key.second);
    return last;
}

bool PendingContributions::leaves(MemberId const& member) const
{
    return std::ranges::any_of(known_, [&](auto const& entry) {
        return entry.first.first == member && entry.second.header.leaving;
    });
}

bool PendingContributions::contributes(MemberId const& member, Round round) const
{
    return std::ranges::any_of(known_, [&](auto const& entry) {
        auto const& header = entry.second.header;
        return entry.first.first == member && (header.base_round == round || header.leaving);
    });
}

bool PendingContributions::postpone_latest()
{
    auto const width = [](Header const& h) {
        return h.ranges.list().size() + h.skipped.list().size();
    };
    Key const* last = nullptr;
    for (auto const& [key, known] : known_) {
        if (postponed_.contains(key)) continue;
        auto const rank = [&](Header const& h) { return std::pair(h.base_round, width(h)); };
        if (last == nullptr || rank(known.header) >= rank(known_.at(*last).header)) last = &key;
    }
    return last != nullptr && postponed_.insert(*last).second;
}

bool PendingContributions::count_absent(Key const& key)
{
    constexpr int absent_limit = 5;
    return ++absent_[key] < absent_limit;
}

void PendingContributions::forget_decided(Commit const& tip)
{
    auto const decided = [&](auto const& entry) { return is_decided(tip, entry.first); };
    std::erase_if(known_, decided);
    std::erase_if(absent_, decided);
}

}  // namespace curtail::protocol::site
