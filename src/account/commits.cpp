// SPDX-License-Identifier: Apache-2.0
#include "account/files.hpp"
#include "chain/chain.hpp"
#include "rounds/names.hpp"

namespace curtail::account {
namespace {

CommitLine::Kind kind_of(rounds::Commit::Kind kind)
{
    switch (kind) {
        case rounds::Commit::Kind::genesis:
            return CommitLine::Kind::genesis;
        case rounds::Commit::Kind::roster:
            return CommitLine::Kind::roster;
        case rounds::Commit::Kind::merge:
            return CommitLine::Kind::merge;
    }
    return CommitLine::Kind::roster;
}

CommitLine line_of(rounds::Commit const& commit)
{
    CommitLine line{commit.number.value, kind_of(commit.kind), commit.complete,
                    commit.round.value,  commit.totals.tokens, {},
                    commit.time};
    for (auto const& d : commit.decided)
        line.contributions.push_back(
            {rounds::member_parts(d.member).process.site, d.member.value, d.seq.value, !d.refused,
             d.refused ? rounds::to_text(*d.refused) : "", d.tokens, d.steps, d.norm});
    return line;
}

}  // namespace

Result<std::vector<CommitLine>> read_commits(chain::RunObjects const& objects)
{
    auto const chain = chain::read_chain(objects, chain::Check::links);
    if (!chain) return tl::unexpected(chain.error());
    std::vector<CommitLine> lines;
    for (auto const& commit : *chain) lines.push_back(line_of(commit));
    return lines;
}

}  // namespace curtail::account
