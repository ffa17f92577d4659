// SPDX-License-Identifier: Apache-2.0
#include "simulator/signs.hpp"

#include <algorithm>

#include "protocol/records/names.hpp"
#include "simulator/invariant.hpp"

namespace curtail::protocol::simulator {

void Signs::read(std::string const& name, std::string const* bytes, Millis now)
{
    if (name.rfind("status/", 0) != 0) return;
    auto const seen = bytes != nullptr ? std::optional(*bytes) : std::nullopt;
    auto const it = reads_.find(name);
    if (it != reads_.end() && it->second.bytes == seen) it->second.last = now;
    else reads_.insert_or_assign(name, Reads{seen, now, now});
}

void Signs::check_written(Site const& site, Status const& status, MonoTime now, MonoTime awake)
{
    bool const member = status.member && site.tip() && site.tip()->find(*status.member) != nullptr;
    if (!member || site.exited()) return member_since_.reset();
    if (!member_since_) member_since_ = now;
    constexpr Seconds slack{1};
    auto const since = std::max({written_, *member_since_, awake});
    require(now - since <= site.tip()->terms.params.status_interval + slack, Invariant::removal,
            "a member writes no status");
}

void Signs::check_removal(Member const& member, Params const& params) const
{
    auto const it = reads_.find(status_name(member.site));
    require(
        it != reads_.end() && it->second.last - it->second.first >= params.status_interval * 3 / 2,
        Invariant::removal, [&] {
            return "a starting site removes " + member.id.value +
                   " without two equal reads of its status far apart";
        });
}

void Signs::check_succession(Member const& member, Params const& params) const
{
    auto const it = reads_.find(status_name(member.site));
    bool const silent =
        it != reads_.end() && it->second.last - it->second.first >= params.status_interval * 2;
    require(silent, Invariant::removal, [&] {
        return "a starting site removes " + member.id.value +
               ", whose process may be running, without two equal reads of its status far apart";
    });
}

}  // namespace curtail::protocol::simulator
