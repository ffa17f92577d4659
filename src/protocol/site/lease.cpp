// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/steps.hpp"

// LEASE, WAIT, GATHER.
namespace curtail::protocol::site {
namespace {

// True if each member that can be expected to contribute to this round has done so.
bool all_found(Parts const& p)
{
    auto const dead = earlier_instances(p);
    return std::ranges::all_of(p.chain.tip()->members, [&](Member const& m) {
        bool const late = m.seq.value == 0 &&
                          m.seen - *p.chain.round_began() > p.chain.run().params.round_time / 2;
        // A member that this merge would remove as silent may be about to contribute.
        bool const missed = m.missed >= p.chain.run().params.max_missed && !suspect(p, m);
        bool const expected = m.id != *p.member && !m.held.empty() && !missed && !late;
        return !expected || std::ranges::count(dead, m.id) > 0 ||
               p.pending.contributes(m.id, p.chain.tip()->round);
    });
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

void begin_gather(Parts& p)
{
    p.schedule.gather_until = p.machine.now() + p.chain.run().params.gather_time;
    p.contributions.doubt();
    p.machine.go(Phase::gather_own);
}

}  // namespace

void begin_lease(Parts& p)
{
    p.proposal.set_mode(Mode::merge);
    if (p.lease.held_by_me(p.machine.now())) begin_gather(p);
    else p.machine.go(Phase::lease_create);
}

void act_lease_create(Parts& p)
{
    if (p.machine.stopping()) return leave(p);
    p.machine.create(
        lease_name(p.chain.tip()->round, p.lease.next()),
        encode(Lease{writer(p), p.lease.next(), p.chain.run().params.lease, store_now(p)}).bytes);
}

void answered_lease_create(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Created>(input)) return p.machine.switch_to(Phase::lease_read);
    p.lease.seen(true, p.machine.now() + p.chain.run().params.lease);
    begin_gather(p);
}

void act_lease_read(Parts& p) { p.machine.get(lease_name(p.chain.tip()->round, p.lease.next())); }

// Reads forward to the highest lease of this round.
void answered_lease_read(Parts& p, Input const& input)
{
    auto const now = p.machine.now();
    if (auto const* got = std::get_if<Got>(&input)) {
        // Each lease is valid for lease_s from its first read, unless it has expired by then.
        auto const& valid = p.chain.run().params.lease;
        auto const lease =
            decode_lease(got->bytes, lease_name(p.chain.tip()->round, p.lease.next()));
        bool const expired = lease && store_now(p) - lease->time > valid;
        p.lease.seen(lease && lease->member == writer(p), expired ? now : now + valid);
        return p.machine.go(Phase::lease_read);
    }
    if (p.lease.held_by_me(now)) return begin_gather(p);
    if (p.lease.held(now)) {
        p.schedule.poll = now + p.chain.run().params.poll_wait;
        return p.machine.go(Phase::wait);
    }
    // No lease is valid and ours could not be created.
    if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::lease_create);
    give_up(p);
}

void act_wait(Parts& p)
{
    if (p.machine.stopping()) return leave(p);
    if (p.machine.reached(p.lease.until())) return p.machine.go(Phase::lease_create);
    if (p.machine.reached(p.schedule.poll)) p.machine.switch_to(Phase::wait_poll);
    else attend_repairs(p);
}

void answered_merge_poll(Parts& p, Input const& input)
{
    auto const back = p.machine.phase() == Phase::wait_poll ? Phase::wait : Phase::gather_headers;
    p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!take_next(p, got->bytes)) return;
        p.schedule.back = back;
        return p.machine.go(Phase::adopt_forward);
    }
    p.machine.switch_to(back);
    if (back == Phase::gather_headers) begin_scan(p, others(p));
}

void act_gather_headers(Parts& p)
{
    if (p.machine.stopping()) leave(p);
    else if (!act_scan(p)) gather_done(p);
}

void act_gather_pause(Parts& p)
{
    if (p.machine.stopping()) return leave(p);
    if (p.machine.reached(p.schedule.poll) || p.machine.reached(p.schedule.gather_until))
        p.machine.switch_to(Phase::gather_poll);
}

}  // namespace curtail::protocol::site
