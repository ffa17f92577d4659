// SPDX-License-Identifier: Apache-2.0
#include "bill/account/files.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"

namespace curtail::account {
namespace {

CommitSummary summary_of(protocol::Commit const& commit)
{
    CommitSummary summary{commit.number.value,
                          commit.kind,
                          commit.complete,
                          commit.round.value,
                          commit.totals.tokens,
                          {},
                          commit.time,
                          commit.model.weights.sha256,
                          protocol::member_parts(commit.by.member).process.site};
    for (auto const& [site, heads] : commit.heads) summary.named_sites.push_back(site);
    for (auto const& d : commit.decided)
        summary.contributions.push_back(
            {protocol::member_parts(d.member).process.site, d.member.value, d.seq.value, !d.refused,
             d.refused ? protocol::to_text(*d.refused) : "", d.tokens, d.steps, d.norm});
    return summary;
}

}  // namespace

Result<CommitList> read_commits(chain::RunObjects const& objects)
{
    auto const chain = chain::read_chain(objects, chain::Check::links);
    if (!chain) return tl::unexpected(chain.error());
    CommitList list;
    for (auto const& commit : *chain) {
        list.commits.push_back(summary_of(commit));
        list.digests.push_back(protocol::encode(commit).sha256);
        journal::add_named_pieces(list.named, commit.number, commit.heads);
    }
    if (!chain->empty()) list.terms = chain->back().terms;
    return list;
}

}  // namespace curtail::account
