// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/liveness_scan.hpp"

#include <algorithm>

#include "protocol/records/names.hpp"

namespace curtail::protocol::site {

void LivenessScan::begin(std::vector<SiteId> sites, std::optional<Digest> foreign_tip, MonoTime now)
{
    sites_ = std::move(sites);
    at_ = 0;
    if (foreign_tip) tip_ = *foreign_tip;
    unread_.clear();
    began_ = now;
}

std::optional<SiteId> LivenessScan::next() const
{
    return at_ < sites_.size() ? std::optional(sites_[at_]) : std::nullopt;
}

void LivenessScan::take(std::string const* bytes)
{
    auto const& site = sites_[at_++];
    auto const seen = bytes != nullptr ? std::optional(*bytes) : std::nullopt;
    auto const it = statuses_.find(site);
    if (it != statuses_.end() && it->second.bytes == seen) return;
    Sighting sighting{seen, {}, {}};
    if (seen)
        if (auto decoded = decode_status(*seen, status_name(site))) sighting.status = *decoded;
    statuses_.insert_or_assign(site, std::move(sighting));
}

void LivenessScan::take_unread() { unread_.insert(sites_[at_++]); }

void LivenessScan::end(MonoTime now)
{
    if (last_tip_ != tip_) tip_since_ = now;
    last_tip_ = tip_;
    for (auto& [site, seen] : statuses_)
        if (!seen.since) seen.since = now;
}

Time LivenessScan::last_sign(Member const& member, Time latest) const
{
    auto const it = statuses_.find(member.site);
    auto const* status = it != statuses_.end() && it->second.status ? &*it->second.status : nullptr;
    if (status == nullptr || status->member != member.id) return member.seen;
    return status->time > latest ? member.seen : std::max(member.seen, status->time);
}

CommitNumber LivenessScan::newest_tip() const
{
    CommitNumber newest;
    for (auto const& [site, seen] : statuses_)
        if (seen.status) newest = std::max(newest, seen.status->tip);
    return newest;
}

Millis LivenessScan::unchanged(std::vector<SiteId> const& sites) const
{
    Millis shortest = std::max(Millis{0}, Millis{began_ - tip_since_});
    for (auto const& site : sites) shortest = std::min(shortest, unchanged(site));
    return shortest;
}

Millis LivenessScan::unchanged(SiteId const& site) const
{
    auto const it = statuses_.find(site);
    if (it == statuses_.end() || unread(site) || !it->second.since) return Millis{0};
    return std::max(Millis{0}, Millis{began_ - *it->second.since});
}

}  // namespace curtail::protocol::site
