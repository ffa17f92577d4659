// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/site/steps.hpp"

/// LEASE, WAIT, GATHER, MERGE, LONE.
namespace curtail::rounds::site {

void begin_lease(Parts& p)
{
    p.proposal.set_mode(Mode::merge);
    if (p.lease.held_by_me(p.machine.now())) begin_gather(p);
    else p.machine.go(Phase::lease_create);
}

bool act_lease_create(Parts& p)
{
    if (p.machine.stopping()) {
        leave(p);
        return true;
    }
    p.machine.create(
        lease_name(p.chain.tip()->round, p.lease.next()),
        encode(Lease{writer(p), p.lease.next(), p.chain.run().params.lease, store_now(p)}).bytes);
    return true;
}

void answered_lease_create(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Created>(input)) {
        p.machine.switch_to(Phase::lease_read);
        return;
    }
    p.lease.seen(true, p.machine.now() + p.chain.run().params.lease);
    begin_gather(p);
}

bool act_lease_read(Parts& p)
{
    p.machine.get(lease_name(p.chain.tip()->round, p.lease.next()));
    return true;
}

/// Reads forward to the highest lease of this round.
void answered_lease_read(Parts& p, Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        lease_exists(p, got->bytes);
        return p.machine.go(Phase::lease_read);
    }
    auto const now = p.machine.now();
    if (p.lease.held_by_me(now)) return begin_gather(p);
    if (p.lease.held(now)) {
        p.schedule.poll = now + p.chain.run().params.poll_wait;
        return p.machine.go(Phase::wait);
    }
    // No lease is valid and ours could not be created.
    if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::lease_create);
    give_up(p);
}

/// Each lease is valid for lease_s from its first read, unless it has expired by then.
void lease_exists(Parts& p, std::string const& bytes)
{
    auto const lease = decode_lease(bytes, lease_name(p.chain.tip()->round, p.lease.next()));
    bool const expired = lease && store_now(p) - lease->time > p.chain.run().params.lease;
    auto const now = p.machine.now();
    p.lease.seen(lease && lease->member == writer(p),
                 expired ? now : now + p.chain.run().params.lease);
}

bool act_wait(Parts& p)
{
    if (p.machine.stopping()) {
        leave(p);
        return true;
    }
    if (p.machine.reached(p.lease.until())) {
        p.machine.go(Phase::lease_create);
        return true;
    }
    if (!p.machine.reached(p.schedule.poll)) return false;
    p.machine.switch_to(Phase::wait_poll);
    return true;
}

void answered_wait_poll(Parts& p, Input const& input)
{
    polled_during_merge(p, input, Phase::wait);
}
void answered_gather_poll(Parts& p, Input const& input)
{
    polled_during_merge(p, input, Phase::gather_headers);
}

/// Answer to a poll for the next commit while waiting for a merge or preparing one.
void polled_during_merge(Parts& p, Input const& input, Phase back)
{
    p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        p.machine.switch_to(back);
        if (back == Phase::gather_headers) begin_scan(p, others(p));
        return;
    }
    if (!take_next(p, got->bytes)) return;
    p.schedule.back = back;
    p.machine.go(Phase::adopt_forward);
}

void begin_gather(Parts& p)
{
    p.schedule.gather_until = p.machine.now() + p.chain.run().params.gather_time;
    begin_scan(p, others(p));
    p.machine.go(Phase::gather_headers);
}

bool act_gather_headers(Parts& p)
{
    if (!act_scan(p)) gather_done(p);
    return true;
}

bool act_gather_pause(Parts& p)
{
    if (p.machine.stopping()) {
        leave(p);
        return true;
    }
    if (!p.machine.reached(p.schedule.poll) && !p.machine.reached(p.schedule.gather_until))
        return false;
    p.machine.switch_to(Phase::gather_poll);
    return true;
}

void gather_done(Parts& p)
{
    if (p.machine.stopping()) return leave(p);
    if (!all_found(p) && p.machine.now() < p.schedule.gather_until) {
        p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
        return p.machine.go(Phase::gather_pause);
    }
    p.proposal.clear_intents();
    for (auto const& id : others(p))
        if (suspect(p, *p.chain.tip()->find(id))) propose_removal(p, id, Removal::silent);
    for (auto const& id : earlier_instances(p)) propose_removal(p, id, Removal::succeeded);
    p.proposal.discard_draft();
    p.machine.go(Phase::merge);
}

/// True if each member that can be expected to contribute to this round has done so.
bool all_found(Parts const& p)
{
    auto const dead = earlier_instances(p);
    return std::all_of(
        p.chain.tip()->members.begin(), p.chain.tip()->members.end(), [&](Member const& m) {
            bool const late = m.seq.value == 0 &&
                              m.seen - *p.chain.round_began() > p.chain.run().params.round_time / 2;
            bool const expected = m.id != *p.member && !m.held.empty() &&
                                  m.missed < p.chain.run().params.max_missed && !late;
            return !expected || std::find(dead.begin(), dead.end(), m.id) != dead.end() ||
                   p.pending.contributes(m.id, p.chain.tip()->round);
        });
}

void merge_refused(Parts& p, std::vector<Merged::Bad> const& bad)
{
    bool wait = false;
    for (auto const& b : bad) {
        if (b.absent && p.pending.absent_again({b.member, b.seq})) wait = true;
        else p.pending.refuse({b.member, b.seq}, b.reason);
    }
    p.payloads.abandon(p.machine);
    p.machine.go(Phase::merge);
    if (wait) p.machine.pause_until(p.machine.now() + p.chain.run().params.poll_wait);
}

/// The key of the merge that makes this commit's model.
MergeKey key_of(Parts const& p, Commit const& commit)
{
    MergeKey key;
    key.parent = p.chain.tip()->model;
    key.outer_step = commit.outer_step;
    for (auto const& d : commit.decided)
        if (!d.refused && !d.ranges.empty()) key.included.emplace_back(d.member, d.seq, d.scale);
    return key;
}

bool has_made(Parts const& p, MergeKey const& key)
{
    return p.payloads.made() && p.payloads.made()->key == key;
}

bool act_merge(Parts& p)
{
    if (p.machine.stopping()) {
        // A leaving site starts no merge: its work is safe in the store and another site merges it.
        p.payloads.abandon(p.machine);
        if (p.proposal.mode() == Mode::fold) finish(p, ExitCode::ok);
        else leave(p);
        return true;
    }
    auto const commit = build(p);
    bool const needs_model = commit && commit->kind == Commit::Kind::merge;
    auto key = needs_model ? key_of(p, *commit) : MergeKey{};
    if (!needs_model || has_made(p, key)) {
        p.machine.go(Phase::commit_create);
        return true;
    }
    p.payloads.abandon(p.machine);
    ++p.attempt;
    auto merge = merge_of(p, key);
    auto names = names_of(merge.weights);
    for (auto const& name : names_of(merge.momentum)) names.push_back(name);
    p.payloads.begin(std::move(names), std::move(key));
    merge.op = p.machine.ask(Question::merge);
    p.machine.send(std::move(merge));
    return true;
}

Merge merge_of(Parts& p, MergeKey const& key)
{
    auto const round = p.chain.tip()->round.next();
    Merge merge{0,
                p.chain.tip()->model,
                p.chain.tip()->outer,
                {},
                key.outer_step,
                p.chain.run().outer.eta,
                p.chain.run().outer.mu,
                targets(p, round, weights_part),
                {}};
    if (key.outer_step) merge.momentum = targets(p, round, momentum_part);
    for (auto const& [member, seq, scale] : key.included)
        merge.include.push_back({member, seq, scale, p.pending.at({member, seq}).header.parts});
    return merge;
}

void answered_merge(Parts& p, Input const& input)
{
    auto const* merged = std::get_if<Merged>(&input);
    if (merged == nullptr) {
        p.payloads.abandon(p.machine);
        if (load_failed(p, input)) return;
        if (std::holds_alternative<Unavailable>(input) && p.machine.tries() < tries_limit)
            return p.machine.retry(Phase::merge);
        return give_up(p);
    }
    if (!merged->bad.empty()) return merge_refused(p, merged->bad);
    auto stored = merged->model;
    stored.insert(stored.end(), merged->momentum.begin(), merged->momentum.end());
    p.payloads.require_newest(stored);
    p.payloads.made(merged->model, merged->momentum);
    p.failures.loads = 0;
    p.machine.go(Phase::commit_create);
}

bool act_lone_store(Parts& p)
{
    p.payloads.abandon(p.machine);
    ++p.attempt;
    StoreModel store{0, targets(p, p.chain.tip()->round.next(), weights_part)};
    MergeKey key;
    key.parent = p.chain.tip()->model;
    for (auto const& own : p.contributions.undecided())
        key.included.emplace_back(own.header.member, own.header.seq, 0.0F);
    p.payloads.begin(names_of(store.parts), std::move(key));
    store.op = p.machine.ask(Question::store);
    p.machine.send(std::move(store));
    return true;
}

void answered_lone_store(Parts& p, Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored != nullptr) {
        p.payloads.require_newest(stored->parts);
        p.payloads.made(stored->parts, {});
        p.proposal.clear_intents();
        return begin_commit(p, Mode::lone);
    }
    if (p.contributions.leaving() || p.machine.tries() < tries_limit)
        return p.machine.retry(Phase::lone_store);
    give_up(p);
}

}  // namespace curtail::rounds::site
