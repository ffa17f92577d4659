// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/rules/skips.hpp"
#include "protocol/site/steps.hpp"

// RUN.
namespace curtail::protocol::site {
namespace {

bool must_leave(Parts const& p)
{
    return p.machine.stopping() || retired(p) || replaced(p) || p.pace.is_too_slow();
}

// True if it is time for a cut. Having nothing left to train is another reason for one.
bool due(Parts& p)
{
    if (!lone(p)) return round_over(p);
    return p.chain.tip()->members.size() > 1 ||
           p.machine.reached(p.training.checkpoint_due(p.chain.run().params));
}

// The member's target if it committed the measured rate; 0 if no blocks are free.
std::int64_t target_at_measured_rate(Parts const& p)
{
    auto const& tip = *p.chain.tip();
    auto left = Ranges::between(0, p.chain.run().stream_blocks()) - tip.done - tip.aside;
    auto const blocks_left = left.count();
    Rate sum = rate(p);
    for (auto const& m : tip.members) {
        left -= m.held;
        if (m.id != p.member) sum += m.rate;
    }
    left -= better_elsewhere(p.config.process.site, tip, tip.members);
    return left.empty() ? 0 : grant_target(p.chain.run(), blocks_left, rate(p), sum);
}

// True if a roster commit with the measured rate would grant more blocks: at most one quantum is
// left to train, some blocks are free, and the target exceeds the holding.
bool wants_rate(Parts const& p)
{
    auto const& me = *p.chain.tip()->find(*p.member);
    bool const known = p.history.measured() && rate(p) > 0;
    bool const full = me.held.list().size() >= most_held_ranges(p.chain.run(), *p.chain.tip());
    if (!known || full || untrained(p).count() > p.chain.run().params.grant_quantum) return false;
    return me.rate != rate(p) && target_at_measured_rate(p) > me.held.count();
}

// What decides about the next action of a member that trains.
struct Needs {
    bool cut{};          // the round is over, or it is time for a checkpoint
    bool blocks{};       // nothing is left to train
    bool more_blocks{};  // a roster commit would grant more blocks
};

Needs needs_of(Parts& p)
{
    Needs needs;
    // Work that a merge has left out is cut at once. For other reasons, no member cuts early beside
    // others: that cut would count as its whole contribution to the round. They would merge without
    // the rest, which would then change a model on which it is not based.
    needs.cut = due(p) || p.training.owes_cut() || (lone(p) && p.training.keeps_skipping());
    needs.blocks = trainable(p).empty();
    needs.more_blocks = wants_rate(p) && p.machine.reached(p.schedule.merge);
    return needs;
}

// Skipped steps may be quick. A lone member that makes no others cuts at most once in this time.
bool may_cut(Parts& p)
{
    bool const only_skips = p.training.since().empty() && lone(p);
    return !only_skips ||
           p.machine.reached(p.training.last_cut() + p.chain.run().params.poll_run_lone);
}

// True if the member has something to cut, and should do so now.
bool cut_is_due(Parts& p, Needs const& needs)
{
    // More blocks are of no use to a member whose header could not list them.
    bool const full = needs.blocks && !untrained(p).empty();
    return p.training.has_work() && p.contributions.count() < p.chain.run().params.max_undecided &&
           (needs.cut || full || (needs.blocks && !needs.more_blocks)) && may_cut(p);
}

// Cuts, merges, asks for more blocks or scans, whichever is due first.
void act_on_round(Parts& p)
{
    auto const needs = needs_of(p);
    bool const stuck = needs.blocks || (needs.cut && p.training.has_work());
    if (cut_is_due(p, needs)) return begin_cut(p, false);
    if (p.contributions.has_published() && round_over(p) && p.machine.reached(p.schedule.merge))
        return begin_lease(p);
    if (needs.more_blocks) {
        p.proposal.clear_intents();
        p.proposal.set_rate(*p.member, rate(p));
        begin_commit(p, Mode::roster);
    } else if (stuck && p.machine.reached(p.schedule.scan)) {
        begin_scan(p, others(p));
        p.machine.go(Phase::run_scan);
    }
}

// A lone member publishes only work that it can no longer commit within its own weights.
bool wants_publishing(Parts& p)
{
    bool const unpublished = p.contributions.next_unpublished() != nullptr;
    if (!unpublished || !lone(p)) return unpublished;
    return p.contributions.count() >= p.chain.run().params.max_undecided ||
           (!p.training.has_work() && trainable(p).empty());
}

// True if the scan found contributions to merge: of all members with blocks, or the round is over.
bool merges_after_scan(Parts& p)
{
    bool all_found = true;
    bool any_found = p.contributions.has_published();
    for (auto const& id : others(p)) {
        bool const found = find_contribution(p, id) != nullptr;
        any_found = any_found || found;
        all_found = all_found && (found || p.chain.tip()->find(id)->held.empty());
    }
    return any_found && (all_found || round_over(p));
}

// Nothing to train and nothing to cut: remove dead members, or merge others' contributions.
void run_scan_done(Parts& p)
{
    constexpr Millis longest_pause{20'000};
    p.schedule.scan =
        p.machine.now() + std::clamp(p.chain.run().params.round_time, Millis{50}, longest_pause);
    p.proposal.clear_intents();
    for (auto const& id : others(p))
        if (suspect(p, *p.chain.tip()->find(id))) propose_removal(p, id, Removal::silent);
    if (p.proposal.removes()) return begin_commit(p, Mode::roster);
    if (merges_after_scan(p) && p.machine.reached(p.schedule.merge)) return begin_lease(p);
    p.machine.switch_to(Phase::run);
}

Millis poll_interval(Parts const& p)
{
    auto const& params = p.chain.run().params;
    auto interval = lone(p) ? params.poll_run_lone : params.poll_run;
    if (trainable(p).empty()) interval = std::min(interval, params.poll_run_starved);
    return interval;
}

// If the store does not answer, a cut has waited for one read already.
bool is_poll_due(Parts& p, bool cuts)
{
    bool const cuts_now = cuts && p.failures.unanswered > 0;
    return !cuts_now && p.machine.reached(p.schedule.poll);
}

}  // namespace

void enter_run(Parts& p)
{
    p.machine.go(Phase::run);
    p.schedule.back = Phase::run;
    p.schedule.poll = p.machine.now() + poll_interval(p);
    // A cut that is due does not wait for another step.
    if (!wants_cut(p)) order_training(p);
}

void order_training(Parts& p)
{
    // After the last cut, no contribution could include the work.
    if (p.machine.stopping() || p.contributions.leaving()) return;
    send_order(p);
    p.training.resume();
}

void send_order(Parts& p)
{
    p.machine.send(Train{trainable(p), p.chain.tip()->totals.tokens + p.contributions.tokens(),
                         p.chain.run().end()});
}

void train_through_outage(Parts& p)
{
    constexpr int failures_of_an_outage = 3;
    auto const failures = std::max(p.machine.tries(), p.failures.unanswered);
    bool const waits = p.training.loaded() && p.training.paused() && !p.machine.asking();
    if (failures < failures_of_an_outage || !waits || p.machine.exited()) return;
    if (p.chain.tip()->find(*p.member) != nullptr) order_training(p);
}

bool lone(Parts const& p)
{
    auto const& me = *p.chain.tip()->find(*p.member);
    bool smallest = true;
    for (auto const& m : p.chain.tip()->members) {
        if (m.id == me.id) continue;
        if (m.since_round < p.chain.tip()->round) return false;
        if (member_parts(m.id).admitted < member_parts(me.id).admitted) smallest = false;
    }
    return me.since_round < p.chain.tip()->round || smallest;
}

Ranges trainable(Parts const& p)
{
    // Half of the limit is for steps that the trainer makes before it obeys.
    auto const most = std::max<std::size_t>(1, p.chain.run().limits.header_ranges / 2);
    auto const blocks = lowest_within(untrained(p), p.training.since(), most);
    return lowest_within(blocks, p.training.skipped(), most);
}

Ranges untrained(Parts const& p)
{
    return p.chain.tip()->find(*p.member)->held - p.training.since() - p.training.skipped() -
           p.contributions.kept_ranges();
}

MonoTime round_end(Parts const& p)
{
    auto const round_time = p.chain.run().params.round_time;
    auto const now = p.machine.now();
    auto const end = now + (*p.chain.round_began() - store_now(p)) + round_time;
    return std::clamp(end, now + round_time / 10, now + round_time);
}

bool round_over(Parts& p)
{
    if (p.training.steps_done(p.chain.run().params)) return true;
    bool const may_end = p.training.tried() || trainable(p).empty();
    return may_end && p.machine.reached(p.training.round_ends());
}

void act_run(Parts& p)
{
    if (must_leave(p)) return leave(p);
    bool const cuts = wants_cut(p);
    if (!cuts && p.amendments.due() && p.machine.reached(p.schedule.amendment))
        p.machine.switch_to(Phase::run_amendment);
    else if (is_poll_due(p, cuts)) p.machine.switch_to(Phase::run_poll);
    else if (!cuts && (attend_repairs(p) || attend_own_work(p) || attend_lost_commits(p))) return;
    else if (wants_publishing(p) && p.machine.reached(p.schedule.publish))
        p.machine.go(Phase::publish_store);
    else act_on_round(p);
}

bool wants_cut(Parts& p)
{
    if (p.machine.stopping()) return true;
    return cut_is_due(p, needs_of(p));
}

void answered_run_poll(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        p.machine.switch_to(Phase::run);
        p.schedule.poll = p.machine.now() + poll_interval(p);
    } else if (take_next(p, got->bytes)) {
        p.schedule.back = Phase::run;
        p.machine.go(Phase::adopt_forward);
    }
}

void act_run_scan(Parts& p)
{
    if (!act_scan(p)) run_scan_done(p);
}

void answered_run_scan(Parts& p, Input const& input)
{
    answered_scan(p, input);
    if (!std::holds_alternative<Unknown>(input) || !wants_cut(p)) return;
    p.schedule.scan = p.machine.now() + p.chain.run().params.poll_wait;
    p.machine.go(Phase::run);
}

}  // namespace curtail::protocol::site
