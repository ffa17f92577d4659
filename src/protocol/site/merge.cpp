// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/steps.hpp"

// MERGE and LONE: a model for the next commit.
namespace curtail::protocol::site {
namespace {

Merge merge_of(Parts& p, MergeKey const& key)
{
    auto const round = p.chain.tip()->round.next();
    Merge merge{.model = p.chain.tip()->model,
                .outer = p.chain.tip()->outer,
                .outer_step = key.outer_step,
                .eta = p.chain.run().outer.eta,
                .mu = p.chain.run().outer.mu,
                .weights = payload_place(p, round, weights_part)};
    if (key.outer_step) merge.momentum = payload_place(p, round, momentum_part);
    for (auto const& [member, seq, scale] : key.included)
        merge.include.push_back(
            {member, seq, scale, p.pending.at({member, seq}).header.delta.value()});
    return merge;
}

// True if a contribution whose delta is damaged may wait for the next merge. Its owner reads the
// delta back after a merge that leaves it out, and stores it again.
bool may_wait(Parts const& p, Key const& key)
{
    auto const& header = p.pending.at(key).header;
    bool const own = p.member && key.first == *p.member;
    bool const stale_then =
        p.chain.tip()->round.value - header.base_round.value >= p.chain.run().params.max_staleness;
    bool const others = std::ranges::any_of(p.chain.tip()->members, [&](Member const& m) {
        auto const* next = p.pending.next_of(m);
        return next != nullptr && Key{m.id, next->header.seq} != key;
    });
    return !own && !p.pending.leaves(key.first) && !stale_then && others &&
           p.proposal.mode() != Mode::fold;
}

void merge_refused(Parts& p, std::vector<Merged::UnusableContribution> const& refused)
{
    bool wait = false;
    for (auto const& r : refused) {
        if (r.absent && p.pending.count_absent({r.member, r.seq})) wait = true;
        else if (r.reason == Refusal::digest && may_wait(p, {r.member, r.seq}))
            p.pending.postpone({r.member, r.seq});
        else p.pending.refuse({r.member, r.seq}, r.reason);
    }
    p.payloads.abandon(p.machine);
    p.machine.go(Phase::merge);
    if (wait) p.machine.pause_until(p.machine.now() + p.chain.run().params.poll_wait);
}

}  // namespace

MergeKey key_of(Parts const& p, Commit const& commit)
{
    MergeKey key;
    key.parent = p.chain.tip()->model;
    key.outer_step = commit.outer_step;
    if (key.outer_step) {
        key.outer = p.chain.run().outer;
        key.momentum = p.chain.tip()->outer;
    }
    for (auto const& d : commit.decided)
        if (!d.refused && !d.ranges.empty()) key.included.emplace_back(d.member, d.seq, d.scale);
    return key;
}

bool has_made(Parts const& p, MergeKey const& key)
{
    return p.payloads.made() && p.payloads.made()->key == key;
}

void act_merge(Parts& p)
{
    if (p.machine.stopping()) {
        // A leaving site starts no merge: its work is safe in the store and another site merges it.
        p.payloads.abandon(p.machine);
        if (p.proposal.mode() == Mode::fold) finish(p);
        else leave(p);
        return;
    }
    auto const commit = build(p);
    bool const needs_model = commit && commit->kind == Commit::Kind::merge;
    auto key = needs_model ? key_of(p, *commit) : MergeKey{};
    if (!needs_model || has_made(p, key)) return p.machine.go(Phase::commit_check);
    p.payloads.abandon(p.machine);
    ++p.attempt;
    auto merge = merge_of(p, key);
    std::vector<std::string> names{merge.weights.name};
    if (merge.momentum) names.push_back(merge.momentum->name);
    p.payloads.begin(std::move(names), std::move(key));
    merge.op = p.machine.ask(Question::merge);
    p.machine.send(std::move(merge));
}

void answered_merge(Parts& p, Input const& input)
{
    auto const* merged = std::get_if<Merged>(&input);
    if (merged == nullptr) {
        p.payloads.abandon(p.machine);
        if (load_failed(p, input, Phase::merge)) return;
        if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::merge);
        return give_up(p);
    }
    if (!merged->refused.empty()) return merge_refused(p, merged->refused);
    p.payloads.made(merged->weights.value(), merged->momentum);
    load_succeeded(p);
    p.machine.go(Phase::commit_check);
}

void act_lone_store(Parts& p)
{
    p.payloads.abandon(p.machine);
    // The contributions that are in the store, or have no payload, can still be announced.
    if (!p.machine.may_transfer()) return p.machine.go(Phase::publish_store);
    ++p.attempt;
    auto const place = payload_place(p, p.chain.tip()->round.next(), weights_part);
    MergeKey key;
    key.parent = p.chain.tip()->model;
    for (auto const& own : p.contributions.undecided())
        key.included.emplace_back(own.header.member, own.header.seq, 0.0F);
    p.payloads.begin({place.name}, std::move(key));
    p.machine.send(StoreModel{p.machine.ask(Question::store), place});
}

void answered_lone_store(Parts& p, Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored != nullptr) {
        p.payloads.made(stored->payload);
        p.proposal.clear_intents();
        return begin_commit(p, Mode::lone);
    }
    if (p.contributions.leaving() || p.machine.tries() < tries_limit)
        return p.machine.retry(Phase::lone_store);
    give_up(p);
}

}  // namespace curtail::protocol::site
