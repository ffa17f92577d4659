// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// BASE: how a new member gets its first model, and what a removed member does.
namespace curtail::protocol::site {
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

std::string lost_text(Tokens tokens)
{
    return std::to_string(tokens.value) +
           " tokens of its work are lost, and their blocks are trained again";
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

void act_base_wait(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) return removed(p);
    if (p.machine.stopping()) return leave(p);
    if (p.machine.reached(p.schedule.poll)) return p.machine.switch_to(Phase::base_poll);
    if (p.base.merged || !has_lone_partner(p) || p.machine.reached(p.base.until))
        p.machine.go(Phase::base_load);
}

void answered_base_poll(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        p.schedule.poll = p.machine.now() + p.chain.run().params.poll_wait;
        return p.machine.switch_to(p.base.merged ? Phase::base_load : Phase::base_wait);
    }
    auto const round = p.chain.tip()->round;
    if (!take_next(p, got->bytes)) return;
    if (p.chain.tip()->round != round) p.base.merged = true;
    p.schedule.poll = p.machine.now();
    if (!p.base.merged) p.schedule.poll += p.chain.run().params.poll_wait;
    p.machine.go(Phase::base_wait);
}

void begin_read(Parts& p)
{
    p.pace.begin_read(p.chain.tip()->round, p.chain.run().params.keep_models, p.machine.now());
}

void act_base_load(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) return removed(p);
    p.training.request(p.chain.tip()->round);
    if (p.pace.is_too_slow()) return leave(p);
    begin_read(p);
    p.machine.send(LoadModel{p.machine.ask(Question::load), p.chain.tip()->model});
}

void answered_base_load(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Loaded>(input)) {
        if (!load_failed(p, input, Phase::base_load)) p.machine.retry(Phase::base_forward);
        return;
    }
    p.pace.end_read(p.machine.now());
    p.training.set_loaded(p.machine.now(), round_end(p));
    load_succeeded(p);
    keep_model(p);
    p.contributions.forget_dropped();
    enter_run(p);
    // After a read of many rounds, the first cut must not be based on an old model.
    if (p.machine.now() - p.machine.asked() > p.chain.run().params.poll_run)
        p.schedule.poll = p.machine.now();
}

bool load_failed(Parts& p, Input const& input, Phase back)
{
    auto const* corrupt = std::get_if<Corrupt>(&input);
    constexpr int tries = 3;  // a newer commit may become visible meanwhile
    p.pace.attempt_failed(corrupt != nullptr);
    if (corrupt == nullptr) return false;
    if (++p.failures.loads < tries) return false;
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
    return std::ranges::any_of(p.chain.tip()->members, [&](Member const& m) {
        return m.site == p.config.process.site &&
               member_parts(m.id).admitted > member_parts(*p.member).admitted;
    });
}

Error replaced_error(Tokens lost)
{
    return {ExitCode::temporary, "another process of this site has joined the run",
            lost == Tokens{} ? "a site has one process at a time" : lost_text(lost),
            "make sure that only one poller starts jobs of this site"};
}

void finish_too_slow(Parts& p)
{
    p.pace.end_read(p.machine.now());
    p.pace.end_publish(p.machine.now());
    auto const& pace = p.pace;
    auto const text = [](Millis time) { return format_duration(time); };
    std::string why = "this site has read commits for " + text(pace.reading()) +
                      " without reaching the newest one";
    if (pace.is_too_slow())
        why = std::to_string(pace.times_late()) +
              " times in a row, its work came too late: reading its last model has taken " +
              text(pace.read()) + ", publishing its last work " + text(pace.publish());
    if (pace.round() > Millis{0}) why += ", and a round takes " + text(pace.round());
    p.machine.send(too_slow_note(pace.times_late(), pace.read(), pace.publish(), pace.round()));
    finish(p, Error{ExitCode::unavailable, "cannot keep up with the run", std::move(why),
                    "give this site a faster connection to the store, or make the rounds longer "
                    "(`round_time_s`) with `curtail-store amend`"});
}

bool is_too_slow_to_find(Parts& p)
{
    auto const& params = p.chain.run().params;
    // A suspension of this process counts as `skew` at most.
    p.pace.read_commit(std::min<Millis>(p.machine.now() - p.machine.asked(), params.skew));
    if (p.pace.reading() <= params.drop_after + params.skew) return false;
    finish_too_slow(p);
    return true;
}

// No longer in the member table: undecided work is void. Joins again as a new member, unless
// another process has taken the place.
void removed(Parts& p)
{
    if (p.training.loaded()) p.machine.send(Discard{});
    if (p.removal == Removal::left) return exit_after_leaving(p);
    auto const lost = unsaved_work(p).lost;
    p.training = {};
    p.contributions = {};
    report_loss(p, removed_note(*p.member, p.chain.tip()->number, *p.removal, lost), lost);
    bool const is_replaced = replaced(p) || p.removal == Removal::succeeded;
    if (is_replaced && !(p.machine.stopping() && lost == Tokens{}))
        return finish(p, replaced_error(lost));
    if (p.machine.stopping() || p.chain.tip()->complete) {
        if (lost == Tokens{}) return finish(p);
        return finish(p, Error{ExitCode::unavailable, "this site was removed from the run",
                               lost_text(lost), "see the event `removed` for the reason"});
    }
    if (p.removal == Removal::silent)
        p.pace.dropped(p.machine.now(), p.chain.run().params.drop_after);
    if (p.pace.is_too_slow()) return finish_too_slow(p);
    p.former = p.member;
    p.end_membership();
    p.payloads.abandon(p.machine);
    p.machine.go(Phase::find_commit);
}

}  // namespace curtail::protocol::site
