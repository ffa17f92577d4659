// SPDX-License-Identifier: Apache-2.0
#include "simulator/copies.hpp"

#include <algorithm>

#include "protocol/upkeep/payload_name.hpp"

namespace curtail::protocol::simulator {

void Copies::keep_commit(SiteFolder const& folder, CommitNumber number, std::string const& bytes)
{
    commits_[folder].insert_or_assign(commit_name(number), bytes);
}

std::string const* Copies::commit(SiteFolder const& folder, std::string const& name) const
{
    auto const kept = commits_.find(folder);
    if (kept == commits_.end()) return nullptr;
    auto const copy = kept->second.find(name);
    return copy == kept->second.end() ? nullptr : &copy->second;
}

std::optional<CommitRef> Copies::newest_commit(SiteFolder const& folder) const
{
    auto const kept = commits_.find(folder);
    if (kept == commits_.end()) return std::nullopt;
    auto const& [name, bytes] = *kept->second.rbegin();
    return CommitRef{decode_commit(bytes, name).value().number, sha256(bytes)};
}

void Copies::keep(std::size_t site, std::string const& name, Payload const& payload)
{
    by_site_[site].insert_or_assign(payload.sha256.hex(),
                                    Copy{upkeep::model_round(name).value(), payload});
}

void Copies::keep_only(std::size_t site, std::vector<PartRef> const& parts)
{
    auto const newest = upkeep::model_round(parts.front().name).value();
    std::erase_if(by_site_[site], [&](auto const& copy) {
        bool const named = std::any_of(parts.begin(), parts.end(), [&](PartRef const& part) {
            return part.sha256.hex() == copy.first;
        });
        return !named && copy.second.round <= newest;
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
    return copy == copies->second.end() ? nullptr : &copy->second.payload;
}

}  // namespace curtail::protocol::simulator
