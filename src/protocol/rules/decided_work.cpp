// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/decided_work.hpp"

#include <algorithm>

#include "protocol/rules/refusal.hpp"

namespace curtail::protocol {
namespace {

// True if `d` is the contribution by which its member left.
bool leaves(Commit const& c, ContributionDecision const& d)
{
    bool const left = std::ranges::any_of(c.removed, [&](RemovedMember const& r) {
        return r.member == d.member && r.reason == Removal::left;
    });
    bool const later = std::ranges::any_of(c.decided, [&](ContributionDecision const& o) {
        return o.member == d.member && d.seq < o.seq;
    });
    return left && !later;
}

}  // namespace

std::string differing_work(Commit const& commit, ContributionDecision const& d,
                           Header const& header)
{
    auto const parent_round = commit.round.value - (commit.kind == Commit::Kind::merge ? 1 : 0);
    if (header.ranges != d.ranges || header.skipped != d.skipped) return "blocks";
    if (header.tokens != d.tokens) return "number of tokens";
    if (header.steps != d.steps) return "number of steps";
    if (parent_round - header.base_round.value != d.staleness) return "staleness";
    if (delta_norm(header) != d.norm) return "norm";
    if (header.leaving != leaves(commit, d)) return "flag `leaving`";
    return {};
}

}  // namespace curtail::protocol
