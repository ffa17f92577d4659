// SPDX-License-Identifier: Apache-2.0
#include "rounds/site/pending.hpp"

#include <algorithm>

namespace curtail::rounds::site {

bool is_decided(Commit const& tip, Key const& key)
{
    auto const* m = tip.find(key.first);
    return m == nullptr || key.second <= m->seq;
}

std::vector<Found> Pending::all() const
{
    std::vector<Found> list;
    for (auto const& [key, found] : found_) list.push_back(found);
    return list;
}

Found const* Pending::next_of(Member const& member) const
{
    auto const it = found_.find({member.id, member.seq.next()});
    return it == found_.end() ? nullptr : &it->second;
}

Seq Pending::last_of(Member const& member) const
{
    Seq last = member.seq;
    for (auto const& [key, found] : found_)
        if (key.first == member.id) last = std::max(last, key.second);
    return last;
}

bool Pending::leaves(MemberId const& member) const
{
    return std::any_of(found_.begin(), found_.end(), [&](auto const& entry) {
        return entry.first.first == member && entry.second.header.leaving;
    });
}

bool Pending::contributes(MemberId const& member, Round round) const
{
    return std::any_of(found_.begin(), found_.end(), [&](auto const& entry) {
        auto const& header = entry.second.header;
        return entry.first.first == member && (header.base_round == round || header.leaving);
    });
}

bool Pending::refuse_widest(RunSpec const& run)
{
    auto const width = [](auto const& entry) { return entry->second.header.ranges.list().size(); };
    auto widest = found_.end();
    for (auto it = found_.begin(); it != found_.end(); ++it) {
        bool const readable = it->second.header.base_round.value > 0;
        if (readable && (widest == found_.end() || width(it) > width(widest))) widest = it;
    }
    if (widest == found_.end()) return false;
    auto const& [member, seq] = widest->first;
    widest->second = unreadable(run, member, seq, *widest->second.sha256);
    return true;
}

bool Pending::count_absent(Key const& key)
{
    constexpr int absent_limit = 5;
    return ++absent_[key] < absent_limit;
}

void Pending::forget_decided(Commit const& tip)
{
    auto const decided = [&](auto const& entry) { return is_decided(tip, entry.first); };
    std::erase_if(found_, decided);
    std::erase_if(absent_, decided);
}

}  // namespace curtail::rounds::site
