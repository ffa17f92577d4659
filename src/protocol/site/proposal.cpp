// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/proposal.hpp"

#include <algorithm>

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

void Proposal::note_sent()
{
    auto const& commit = draft_->commit;
    sent_before_ = sent_;
    if (!lone_draft_ || !is_draft(*lone_draft_)) return;
    if (!sent_ || sent_->commit != commit.number) sent_ = Sent{commit.number, {}};
    for (auto const& d : commit.decided) sent_->last = std::max(sent_->last, d.seq);
}

}  // namespace curtail::protocol::site
