// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/heads.hpp"

namespace curtail::protocol {

void raise_heads(std::map<SiteId, JournalHeads>& heads, SiteId const& site,
                 JournalHeads const& known)
{
    std::size_t count = 0;
    for (auto const& [name, streams] : heads) count += streams.size();
    for (auto const& [stream, head] : known) {
        auto const found = heads.find(site);
        bool const is_new = found == heads.end() || !found->second.contains(stream);
        if (is_new && count >= heads_limit) continue;
        auto& newest = heads[site][stream];
        if (newest.number < head.number) newest = head;
        count += is_new ? 1 : 0;
    }
}

std::string lost_head(std::map<SiteId, JournalHeads> const& before,
                      std::map<SiteId, JournalHeads> const& after)
{
    for (auto const& [site, streams] : before)
        for (auto const& [stream, head] : streams) {
            auto const there = after.find(site);
            auto const same =
                there != after.end() ? there->second.find(stream) : JournalHeads::const_iterator{};
            bool const has = there != after.end() && same != there->second.end();
            bool const kept = has && (same->second.number > head.number || same->second == head);
            if (!kept) return site.value + "/" + stream;
        }
    return {};
}

}  // namespace curtail::protocol
