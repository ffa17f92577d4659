// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// Reading this member's own headers back. Only this process writes them, and always the same bytes.
// So it may store a damaged one again without condition.
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

}  // namespace

void store_header_again(Parts& p, OwnContribution& own)
{
    if (own.restores++ == 0) p.machine.send(header_restored_note(own.header.member, name_of(own)));
    own.damaged = true;
    p.machine.send(Overwrite{name_of(own), own.encoded->bytes});
}

bool attend_own_header(Parts& p)
{
    if (p.contributions.next_doubtful() == nullptr || !p.machine.reached(p.schedule.header))
        return false;
    p.machine.switch_to(Phase::run_header);
    return true;
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
        begin_scan(p, others(p));
        p.machine.go(Phase::gather_headers);
    }
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
