// SPDX-License-Identifier: Apache-2.0
#include "simulator/copies.hpp"

#include <algorithm>

namespace curtail::rounds::simulator {

void Copies::keep(std::size_t site, Payload const& payload)
{
    by_site_[site].insert_or_assign(payload.sha256.hex(), payload);
}

void Copies::keep_only(std::size_t site, std::vector<PartRef> const& parts)
{
    std::erase_if(by_site_[site], [&](auto const& copy) {
        return std::none_of(parts.begin(), parts.end(),
                            [&](PartRef const& part) { return part.sha256.hex() == copy.first; });
    });
}

void Copies::lose(Digest const& digest)
{
    for (auto& [site, copies] : by_site_) copies.erase(digest.hex());
}

Payload const* Copies::find(std::size_t site, Digest const& digest) const
{
    auto const copies = by_site_.find(site);
    if (copies == by_site_.end()) return nullptr;
    auto const copy = copies->second.find(digest.hex());
    return copy == copies->second.end() ? nullptr : &copy->second;
}

}  // namespace curtail::rounds::simulator
