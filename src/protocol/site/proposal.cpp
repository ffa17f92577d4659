// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/proposal.hpp"

namespace curtail::protocol::site {

void Proposal::clear_intents()
{
    intents_ = {};
    scanned_.clear();
}

void Proposal::remove(MemberId const& member, Removal reason, Seq last_decided)
{
    intents_.remove[member] = reason;
    scanned_[member] = last_decided;
}

Intents Proposal::intents_at(Commit const& tip) const
{
    auto intents = intents_;
    std::erase_if(intents.remove, [&](auto const& entry) {
        auto const* m = tip.find(entry.first);
        return m == nullptr || m->seq != scanned_.at(entry.first);
    });
    return intents;
}

bool Proposal::builds_on(Digest const& tip) const { return draft_ && draft_->commit.parent == tip; }

bool Proposal::is_draft(Digest const& record) const
{
    return draft_ && draft_->encoded.sha256 == record;
}

}  // namespace curtail::protocol::site
