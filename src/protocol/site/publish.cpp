// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// CUT, PUBLISH and leaving.
namespace curtail::protocol::site {
namespace {

void published_all(Parts& p)
{
    if (p.contributions.leaving()) {
        p.contributions.doubt();
        return p.machine.go(Phase::leave_header);
    }
    if (p.machine.stopping()) return leave(p);
    if (lone(p) || round_over(p)) return begin_lease(p);
    enter_run(p);
}

void contributed(Parts& p)
{
    auto& own = *p.contributions.next_unpublished();
    own.published = true;
    p.pace.end_publish(p.machine.now());
    p.machine.send(contributed_note(own.header));
    p.machine.go(Phase::publish_store);
}

// An earlier try of this process created it, or a foreign program did. In the latter case no
// second header can announce this work. A damaged header may come from an earlier try without an
// answer. No commit has decided it, so this process may store it again.
void header_exists(Parts& p, std::string const& bytes)
{
    auto& own = *p.contributions.next_unpublished();
    if (bytes == own.encoded->bytes) return contributed(p);
    // A single read may be corrupt; a foreign object stays the same in every read.
    if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::publish_read);
    auto const name = header_name(own.header.member, own.header.seq);
    if (own.unanswered && !p.config.decoder->header(bytes, name)) {
        store_header_again(p, own);
        own.doubtful = true;
        return contributed(p);
    }
    own.unanswered = own.found = false;
    finish(p,
           Error{ExitCode::protocol,
                 "cannot announce " + std::to_string(own.header.tokens.value) + " tokens of work",
                 "a foreign object has the name " + name,
                 "make sure that only this run's sites write to the store, then restart the site; "
                 "these blocks are trained again"});
}

// A contribution without work.
OwnContribution empty_contribution(Parts const& p, Round base)
{
    return {.header = {.run = p.chain.run().run,
                       .member = *p.member,
                       .seq = p.contributions.next_seq(),
                       .base_round = base,
                       .leaving = p.contributions.leaving()},
            .stored = true};
}

// A contribution with the work since the last cut and the blocks and steps of `earlier`.
OwnContribution contribution_of(Parts const& p, CutReady const& ready)
{
    auto own = empty_contribution(p, p.training.base());
    auto& h = own.header;
    h.ranges = p.training.since();
    h.skipped = p.training.skipped();
    h.tokens = h.ranges.count() * p.chain.run().params.block_tokens;
    h.steps = p.training.steps_since();
    h.nonfinite = ready.nonfinite;
    if (h.ranges.empty() || h.nonfinite > 0) return own;
    h.delta = {{delta_part, delta_name(h.base_round, h.member, h.seq), 0, {}}, ready.sumsq};
    own.stored = false;
    return own;
}

// True if the weights at the last cut contain the round's model and this member's undecided work,
// and no other member has any.
bool lone_possible(Parts const& p)
{
    bool work = false;
    for (auto const& own : p.contributions.undecided()) {
        work = work || !own.header.ranges.empty() || !own.header.skipped.empty();
        if (own.header.nonfinite > 0) return false;
    }
    bool const on_base = p.training.base() == p.chain.tip()->round;
    return work && lone(p) && on_base && p.contributions.dropped().empty();
}

}  // namespace

void begin_cut(Parts& p, bool leaving)
{
    p.machine.go(Phase::cut);
    p.training.pause();
    bool const may_be_lone = p.chain.tip()->find(*p.member) != nullptr && lone(p);
    p.machine.send(
        Cut{p.machine.ask(Question::cut), p.contributions.next_seq(), leaving, may_be_lone});
    if (leaving) p.contributions.leave();
}

void answered_cut(Parts& p, Input const& input)
{
    auto const& ready = std::get<CutReady>(input);
    auto own = contribution_of(p, ready);
    p.machine.send(cut_note(own.header));
    p.contributions.add(std::move(own));
    p.training.cut(p.machine.now());
    if (!lone_possible(p)) return p.machine.go(Phase::publish_store);
    bool const trained = std::ranges::any_of(
        p.contributions.undecided(), [](auto const& cut) { return !cut.header.ranges.empty(); });
    if (trained) return p.machine.go(Phase::lone_store);
    p.proposal.clear_intents();
    begin_commit(p, Mode::lone);
}

void act_publish_store(Parts& p)
{
    auto const* own = p.contributions.next_unpublished();
    if (own == nullptr) return published_all(p);
    if (!p.contributions.leaving()) p.pace.begin_publish(own->header.seq, p.machine.now());
    if (own->stored) return p.machine.switch_to(Phase::publish_header);
    if (!p.machine.may_transfer()) {
        p.contributions.doubt();
        return p.machine.go(Phase::leave_header);
    }
    auto const& payload = own->header.delta->payload;
    p.machine.send(
        StoreDelta{p.machine.ask(Question::store), own->header.seq, {payload.part, payload.name}});
}

void act_publish_header(Parts& p)
{
    auto& own = *p.contributions.next_unpublished();
    if (!own.encoded) {
        own.header.rate = rate(p);
        own.header.heads = p.heads;
        own.header.time = store_now(p);
        own.encoded = encode(own.header, p.chain.run().limits);
    }
    p.machine.create(header_name(own.header.member, own.header.seq), own.encoded->bytes, true);
}

void act_publish_read(Parts& p)
{
    auto const& h = p.contributions.next_unpublished()->header;
    p.machine.get(header_name(h.member, h.seq));
}

void answered_publish(Parts& p, Input const& input)
{
    if (auto const* stored = std::get_if<Stored>(&input)) {
        auto& own = *p.contributions.next_unpublished();
        if (stored->payload.name != own.header.delta->payload.name)
            throw std::logic_error("stored another payload than requested");
        own.header.delta->payload = stored->payload;
        own.stored = true;
        return p.machine.go(Phase::publish_header);
    }
    if (std::holds_alternative<Created>(input)) return contributed(p);
    if (std::holds_alternative<Exists>(input)) {
        p.contributions.next_unpublished()->found = true;
        return p.machine.go(Phase::publish_read);
    }
    if (auto const* got = std::get_if<Got>(&input)) return header_exists(p, got->bytes);
    auto const* unknown = std::get_if<Unknown>(&input);
    bool const created_nothing = unknown != nullptr && unknown->created_nothing;
    if (p.machine.phase() == Phase::publish_header && !created_nothing)
        p.contributions.next_unpublished()->unanswered = true;
    bool const again = p.contributions.leaving() || p.machine.tries() < tries_limit;
    if (again) return p.machine.retry(p.machine.phase());
    p.machine.retry(Phase::run);
    p.schedule.publish = p.machine.pause_ends() + p.chain.run().params.poll_wait;
    enter_run(p);
}

void exit_after_leaving(Parts& p)
{
    bool const stops = p.machine.stopping();
    if (retired(p) && !stops) finish(p, retired_error(p));
    else if (replaced(p) && !stops) finish(p, replaced_error(unsaved_work(p).lost));
    else if (p.pace.is_too_slow() && !stops) finish_too_slow(p);
    else finish_and_report_loss(p);
}

void leave(Parts& p)
{
    if (p.training.loaded()) return begin_cut(p, true);
    p.contributions.leave();
    p.contributions.add(empty_contribution(p, p.chain.tip()->round));
    p.machine.go(Phase::publish_store);
}

}  // namespace curtail::protocol::site
