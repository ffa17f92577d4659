// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// Reading this member's own headers and deltas back. Only this process writes them, and always the
// same bytes. So it may store a damaged one again without condition.
namespace curtail::protocol::site {
namespace {

std::string name_of(OwnContribution const& own)
{
    return header_name(own.header.member, own.header.seq);
}

bool is_intact(OwnContribution const& own, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    return got != nullptr && got->bytes == own.encoded->bytes;
}

// Asks for the first header to read back. False: all are read back.
bool read_back(Parts& p)
{
    auto const* own = p.contributions.next_doubtful();
    if (own != nullptr) p.machine.get(name_of(*own));
    return own != nullptr;
}

// Takes the answer. False: the header may still be damaged.
bool took_intact(Parts& p, Input const& input)
{
    auto& own = *p.contributions.next_doubtful();
    if (is_intact(own, input)) own.doubtful = own.damaged = false;
    // A header that the store says is missing was there once, or this answer is out of date.
    else if (!std::holds_alternative<Unknown>(input)) store_header_again(p, own);
    return !own.doubtful;
}

// Reads the first unproven delta back, and stores it again if it is damaged.
void prove_delta(Parts& p)
{
    auto const& own = *p.contributions.next_unproven();
    p.machine.send(
        Restore{p.machine.ask(Question::restore), {own.header.delta->payload}, std::nullopt});
}

// Takes the answer. False: the delta may still be damaged.
bool proved(Parts& p, Input const& input)
{
    auto& own = *p.contributions.next_unproven();
    auto const* restored = std::get_if<Restored>(&input);
    if (restored == nullptr) return false;
    if (!restored->stored.empty()) p.machine.send(repaired_note(restored->stored));
    own.unproven = !restored->damaged.empty();
    own.unusable = own.unusable && own.unproven;
    return !own.unproven;
}

}  // namespace

void store_header_again(Parts& p, OwnContribution& own)
{
    if (own.restores++ == 0) p.machine.send(header_restored_note(own.header.member, name_of(own)));
    own.damaged = true;
    p.machine.send(Overwrite{name_of(own), own.encoded->bytes});
}

bool attend_own_work(Parts& p)
{
    bool const doubts = p.contributions.next_doubtful() != nullptr;
    bool const proves = p.contributions.next_unproven() != nullptr;
    if ((!doubts && !proves) || !p.machine.reached(p.schedule.header)) return false;
    p.machine.switch_to(doubts ? Phase::run_header : Phase::run_delta);
    return true;
}

void act_run_delta(Parts& p) { prove_delta(p); }

void answered_run_delta(Parts& p, Input const& input)
{
    if (!proved(p, input)) {
        auto& own = *p.contributions.next_unproven();
        if (++own.proofs >= tries_limit) own.unproven = false;
        p.schedule.header = p.machine.now() + p.chain.run().params.poll_wait;
    }
    p.machine.switch_to(Phase::run);
}

void act_run_header(Parts& p) { (void)read_back(p); }

// The trainer goes on, and so do all other tasks of the state `run`.
void answered_run_header(Parts& p, Input const& input)
{
    auto& own = *p.contributions.next_doubtful();
    bool const intact = took_intact(p, input);
    if (!intact && own.restores >= tries_limit) own.doubtful = false;
    if (!intact) p.schedule.header = p.machine.now() + p.chain.run().params.poll_wait;
    p.machine.switch_to(Phase::run);
}

void act_gather_own(Parts& p)
{
    if (p.machine.stopping()) {
        leave(p);
    } else if (!read_back(p)) {
        if (p.contributions.next_unproven() != nullptr) return p.machine.go(Phase::gather_delta);
        begin_scan(p, others(p));
        p.machine.go(Phase::gather_headers);
    }
}

// The commit names the bytes in the store. So this process merges no delta of its own that the
// store does not have.
void act_gather_delta(Parts& p)
{
    if (p.machine.stopping()) leave(p);
    else prove_delta(p);
}

void answered_gather_delta(Parts& p, Input const& input)
{
    if (proved(p, input)) return p.machine.go(Phase::gather_own);
    if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::gather_delta);
    if (!std::holds_alternative<Restored>(input)) return give_up(p);
    auto& own = *p.contributions.next_unproven();
    own.unproven = false;
    own.unusable = true;
    p.machine.go(Phase::gather_own);
}

void answered_gather_own(Parts& p, Input const& input)
{
    if (took_intact(p, input)) p.machine.go(Phase::gather_own);
    else if (p.machine.tries() < tries_limit) p.machine.retry(Phase::gather_own);
    else give_up(p);
}

void act_leave_header(Parts& p)
{
    if (!read_back(p)) p.machine.go(Phase::leave_commit);
}

// A process that leaves on request has until the end of that request. But it does not wait for a
// store that gives no answer.
void answered_leave_header(Parts& p, Input const& input)
{
    auto& own = *p.contributions.next_doubtful();
    bool const waits = p.machine.stopping() && !std::holds_alternative<Unknown>(input);
    bool const intact = took_intact(p, input);
    if (!intact && (waits || p.machine.tries() < tries_limit))
        return p.machine.retry(Phase::leave_header);
    own.doubtful = false;
    p.machine.go(Phase::leave_header);
}

// The others may have removed this member while its process was suspended. Then its contributions
// are void.
void answered_leave_commit(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return exit_after_leaving(p);
    if (!take_next(p, got->bytes)) return;
    bool const is_member = p.chain.tip()->find(*p.member) != nullptr;
    if (is_member || p.removal == Removal::left) return p.machine.go(Phase::leave_commit);
    removed(p);
}

}  // namespace curtail::protocol::site
