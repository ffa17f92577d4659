// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/recorded_merge.hpp"
#include "protocol/site/steps.hpp"

// REPAIR: computing a model once more from the records and payloads of its merge. No record needs
// to be trusted: only a model with the digest in the newest commit is stored.
namespace curtail::protocol::site {
namespace {

// A lone member's model has no deltas in the store, and the first model has no merge.
bool can_recompute(Commit const& made, Commit const& tip)
{
    if (made.kind != Commit::Kind::merge || made.model != tip.model) return false;
    return std::ranges::all_of(
        made.decided, [](ContributionDecision const& d) { return !adds_work(d) || d.header; });
}

// The next included contribution whose header is not read; null: none.
ContributionDecision const* next_without_header(MergeSources const& sources)
{
    std::size_t read = sources.headers.size();
    for (auto const& d : sources.made->decided)
        if (adds_work(d) && read-- == 0) return &d;
    return nullptr;
}

}  // namespace

void act_repair_made(Parts& p)
{
    auto const& tip = *p.chain.tip();
    auto const number = commit_of_model(tip);
    if (p.machine.stopping() || number.value <= 1) recompute_ended(p);
    else p.machine.get(commit_name(number));
}

void answered_repair_made(Parts& p, Input const& input)
{
    auto const& tip = *p.chain.tip();
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return recompute_ended(p);
    auto made = decode_commit(got->bytes, commit_name(commit_of_model(tip)));
    if (!made || !can_recompute(*made, tip)) return recompute_ended(p);
    p.repairs.sources.made = std::move(*made);
    p.machine.switch_to(Phase::repair_parent);
}

void act_repair_parent(Parts& p)
{
    p.machine.get(commit_name({p.repairs.sources.made->number.value - 1}));
}

void answered_repair_parent(Parts& p, Input const& input)
{
    auto& sources = p.repairs.sources;
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr || sha256(got->bytes) != sources.made->parent) return recompute_ended(p);
    auto parent = decode_commit(got->bytes, commit_name({sources.made->number.value - 1}));
    if (!parent) return recompute_ended(p);
    sources.parent = std::move(*parent);
    p.machine.switch_to(Phase::repair_header);
}

void act_repair_header(Parts& p)
{
    auto const* next = next_without_header(p.repairs.sources);
    if (next == nullptr) p.machine.switch_to(Phase::repair_merge);
    else p.machine.get(header_name(next->member, next->seq));
}

void answered_repair_header(Parts& p, Input const& input)
{
    auto& sources = p.repairs.sources;
    auto const& next = *next_without_header(sources);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr || sha256(got->bytes) != *next.header) return recompute_ended(p);
    auto header = decode_header(got->bytes, header_name(next.member, next.seq));
    if (!header || !header->delta) return recompute_ended(p);
    sources.headers.push_back(std::move(*header));
    p.machine.switch_to(Phase::repair_header);
}

void act_repair_merge(Parts& p)
{
    auto const& [made, parent, headers] = p.repairs.sources;
    if (p.machine.stopping()) recompute_ended(p);
    else
        p.machine.send(Restore{p.machine.ask(Question::restore), p.repairs.current().parts,
                               recorded_merge(p.chain.run(), *made, *parent, headers)});
}

}  // namespace curtail::protocol::site
