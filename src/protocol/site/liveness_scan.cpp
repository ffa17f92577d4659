// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/liveness_scan.hpp"

#include "protocol/records/names.hpp"

namespace curtail::protocol::site {

void LivenessScan::begin(std::vector<SiteId> sites, std::optional<Digest> foreign_tip, MonoTime now)
{
    sites_ = std::move(sites);
    at_ = 0;
    if (foreign_tip) tip_ = *foreign_tip;
    statuses_.clear();
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
    auto& seen = statuses_[site];
    if (bytes == nullptr) return;
    seen.bytes = *bytes;
    if (auto decoded = decode_status(*bytes, status_name(site))) seen.status = *decoded;
}

void LivenessScan::take_unread() { unread_.insert(sites_[at_++]); }

void LivenessScan::end(MonoTime now)
{
    // The first look may have seen more sites: this process has removed their members since.
    bool const same =
        first_tip_ == tip_ && std::ranges::all_of(statuses_, [this](auto const& seen) {
            auto const it = first_.find(seen.first);
            return it != first_.end() && it->second == seen.second;
        });
    if (same) return;
    first_tip_ = tip_;
    first_ = statuses_;
    since_ = now;
}

Time LivenessScan::last_sign(Member const& member, Time latest) const
{
    auto const it = statuses_.find(member.site);
    auto const* status = it != statuses_.end() && it->second.status ? &*it->second.status : nullptr;
    if (status == nullptr || status->member != member.id) return member.seen;
    return status->time > latest ? member.seen : std::max(member.seen, status->time);
}

}  // namespace curtail::protocol::site
