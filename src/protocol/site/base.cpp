// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// BASE: how a new member gets its first model, and what a removed member does.
namespace curtail::rounds::site {
namespace {

// True if one member was alone in this round. It commits its own weights at once, which makes the
// first common base.
bool has_lone_partner(Parts const& p)
{
    std::int64_t before = 0;
    std::int64_t first = member_parts(*p.member).admitted.value;
    for (auto const& m : p.chain.tip()->members) {
        if (m.id == *p.member) continue;
        if (m.since_round < p.chain.tip()->round) ++before;
        first = std::min(first, member_parts(m.id).admitted.value);
    }
    return before == 1 || (before == 0 && first < member_parts(*p.member).admitted.value);
}

}  // namespace

void begin_base(Parts& p)
{
    p.proposal.discard_draft();
    p.contributions.begin(p.chain.tip()->find(*p.member)->seq);
    p.base.until = p.machine.now() + p.chain.run().params.first_base_wait;
    p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
    p.base.merged = false;
    p.failures.loads = 0;
    look_for_repairs_soon(p);
    p.watch.observe(*p.chain.tip(), p.machine.now());
    p.machine.send(joined_note(*p.member, p.chain.tip()->number));
    p.machine.go(Phase::base_wait);
}

bool act_base_wait(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) {
        removed(p);
        return true;
    }
    if (p.machine.stopping()) {
        leave(p);
        return true;
    }
    if (p.machine.reached(p.schedule.poll)) {
        p.machine.switch_to(Phase::base_poll);
        return true;
    }
    bool const load = p.base.merged || !has_lone_partner(p) || p.machine.reached(p.base.until);
    if (load) p.machine.go(Phase::base_load);
    return load;
}

void answered_base_poll(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
        p.machine.switch_to(p.base.merged ? Phase::base_load : Phase::base_wait);
        return;
    }
    auto const round = p.chain.tip()->round;
    if (!take_next(p, got->bytes)) return;
    if (p.chain.tip()->round != round) p.base.merged = true;
    p.schedule.poll =
        p.base.merged ? p.machine.now() : p.machine.now() + p.chain.run().params.poll_wait;
    p.machine.go(Phase::base_wait);
}

bool act_base_load(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) {
        removed(p);
        return true;
    }
    p.training.request(p.chain.tip()->round);
    p.machine.send(LoadModel{p.machine.ask(Question::load), p.chain.tip()->model});
    return true;
}

void answered_base_load(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Loaded>(input)) {
        if (!load_failed(p, input, Phase::base_load)) p.machine.retry(Phase::base_forward);
        return;
    }
    p.training.set_loaded(p.machine.now(), round_end(p));
    load_succeeded(p);
    keep_model(p);
    p.contributions.forget_dropped();
    enter_run(p);
}

void answered_base_forward(Parts& p, Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        if (take_next(p, got->bytes)) p.machine.go(Phase::base_forward);
    } else p.machine.switch_to(Phase::base_load);
}

bool load_failed(Parts& p, Input const& input, Phase back)
{
    auto const* corrupt = std::get_if<Corrupt>(&input);
    constexpr int tries = 3;  // a newer commit may become visible meanwhile
    if (corrupt == nullptr || ++p.failures.loads < tries) return false;
    begin_repair(p, *corrupt, back);
    return true;
}

void load_succeeded(Parts& p)
{
    p.failures.loads = 0;
    p.repairs.need.reset();
}

bool replaced(Parts const& p)
{
    auto const& members = p.chain.tip()->members;
    return std::any_of(members.begin(), members.end(), [&](Member const& m) {
        return m.site == p.config.process.site &&
               member_parts(m.id).admitted > member_parts(*p.member).admitted;
    });
}

// No longer in the member table: undecided work is void. Joins again as a new member, unless
// another process has taken the place.
void removed(Parts& p)
{
    bool const other = replaced(p);
    if (p.training.loaded()) p.machine.send(Discard{});
    if (p.removal == Removal::left) return exit_after_leaving(p);
    if (p.machine.stopping() || other || p.removal == Removal::succeeded)
        return finish(p, ExitCode::ok);
    p.end_membership();
    p.payloads.abandon(p.machine);
    p.machine.go(Phase::find_commit);
}

}  // namespace curtail::rounds::site
