// SPDX-License-Identifier: Apache-2.0
#include "bill/account/files.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/clipping.hpp"

namespace curtail::account {
namespace {

SiteId site_of(MemberId const& member) { return protocol::member_parts(member).process.site; }

// `norms` are those of the commit before.
CommitSummary summary_of(protocol::Commit const& commit, std::span<double const> norms)
{
    CommitSummary summary{
        commit.number.value,      commit.kind, commit.complete, commit.round.value,
        commit.totals.tokens,     {},          commit.time,     commit.model.weights.sha256,
        site_of(commit.by.member)};
    for (auto const& [site, heads] : commit.heads) summary.named_sites.push_back(site);
    auto const factors = protocol::clip_factors(norms, commit.decided);
    for (std::size_t i = 0; i < factors.size(); ++i) {
        auto const& d = commit.decided[i];
        summary.contributions.push_back({site_of(d.member), d.member.value, d.seq.value, !d.refused,
                                         d.refused ? protocol::to_text(*d.refused) : "", d.tokens,
                                         d.steps, d.norm, factors[i] < 1});
    }
    for (auto const& r : commit.removed) summary.removed.emplace_back(site_of(r.member), r.reason);
    summary.quarantine = commit.quarantine;
    return summary;
}

}  // namespace

Result<CommitList> read_commits(chain::RunObjects const& objects)
{
    auto const chain = chain::read_chain(objects, chain::Check::links);
    if (!chain) return tl::unexpected(chain.error());
    CommitList list;
    std::span<double const> norms;
    for (auto const& commit : *chain) {
        list.commits.push_back(summary_of(commit, norms));
        norms = commit.norms;
        list.digests.push_back(protocol::encode(commit).sha256);
        journal::add_named_pieces(list.named, commit.number, commit.heads);
    }
    if (!chain->empty()) list.terms = chain->back().terms;
    return list;
}

}  // namespace curtail::account
