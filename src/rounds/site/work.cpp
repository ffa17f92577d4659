// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "rounds/site/steps.hpp"

/// RUN, CUT, PUBLISH, LEAVE.
namespace curtail::rounds::site {

void enter_run(Parts& p)
{
    p.machine.go(Phase::run);
    p.back = Phase::run;
    p.next_poll = p.machine.now() + poll_interval(p);
    if (p.machine.stopping()) return;
    Train train{p.tip->find(*p.member)->held, Tokens{p.tip->totals.tokens}};
    for (auto const& own : p.undecided) train.tokens_before += Tokens{own.header.tokens};
    p.machine.send(std::move(train));
}

/// True if every other member was admitted in this round. If this one was too, the smallest N is
/// lone.
bool lone(Parts const& p)
{
    auto const& me = *p.tip->find(*p.member);
    bool smallest = true;
    for (auto const& m : p.tip->members) {
        if (m.id == me.id) continue;
        if (m.since_round < p.tip->round) return false;
        if (member_parts(m.id).admitted < member_parts(me.id).admitted) smallest = false;
    }
    return me.since_round < p.tip->round || smallest;
}

Ranges trainable(Parts const& p)
{
    auto blocks = p.tip->find(*p.member)->held - p.since;
    for (auto const& own : p.undecided) blocks -= own.header.ranges;
    return blocks;
}

bool cut_possible(Parts const& p)
{
    return !p.since.empty() &&
           static_cast<std::int64_t>(p.undecided.size()) < p.run.params.max_undecided;
}

bool round_over(Parts& p)
{
    if (p.run.params.local_steps > 0 && p.steps_in_round >= p.run.params.local_steps) return true;
    return p.machine.reached(p.round_taken + p.run.params.round_time);
}

/// True if it is time for a cut. Having nothing left to train is another reason for one.
bool due(Parts& p)
{
    if (!lone(p)) return round_over(p);
    return p.tip->members.size() > 1 ||
           p.machine.reached(p.last_cut + p.run.params.checkpoint_interval);
}

Millis poll_interval(Parts const& p)
{
    auto const& params = p.run.params;
    auto interval = lone(p) ? params.poll_run_lone : params.poll_run;
    if (trainable(p).empty()) interval = std::min(interval, params.poll_run_starved);
    return interval;
}

/// True if a roster commit with the measured rate would grant more blocks: at most one quantum is
/// left to train, some blocks are free, and the target exceeds the holding.
bool wants_rate(Parts const& p)
{
    auto const& me = *p.tip->find(*p.member);
    if (p.measured_seconds <= 0 || rate(p) <= 0 ||
        trainable(p).count() > p.run.params.grant_quantum)
        return false;
    auto left = Ranges::between(0, p.run.stream_blocks()) - p.tip->done;
    auto const blocks_left = left.count();
    Rate sum = rate(p);
    for (auto const& m : p.tip->members) {
        left -= m.held;
        if (m.id != me.id) sum += m.rate;
    }
    return !left.empty() && me.rate != rate(p) &&
           grant_target(p.run, blocks_left, rate(p), sum) > me.held.count();
}

/// A lone member publishes only work that it can no longer commit within its own weights.
bool wants_publishing(Parts const& p)
{
    bool const unpublished = std::any_of(p.undecided.begin(), p.undecided.end(),
                                         [](Own const& own) { return !own.published; });
    if (!unpublished || !lone(p)) return unpublished;
    return static_cast<std::int64_t>(p.undecided.size()) >= p.run.params.max_undecided ||
           (p.since.empty() && trainable(p).empty());
}

bool act_run(Parts& p)
{
    if (p.machine.stopping()) {
        leave(p);
        return true;
    }
    if (p.machine.reached(p.next_poll)) {
        p.machine.switch_to(Phase::run_poll);
        return true;
    }
    if (wants_publishing(p) && p.machine.reached(p.publish_after)) {
        p.machine.go(Phase::publish_store);
        return true;
    }
    bool const is_due = due(p);
    bool const starved = trainable(p).empty();
    bool const more_blocks = wants_rate(p) && p.machine.reached(p.merge_after);
    if (cut_possible(p) && (is_due || (starved && !more_blocks))) {
        begin_cut(p, false);
        return true;
    }
    if (has_published(p) && round_over(p) && p.machine.reached(p.merge_after)) {
        begin_lease(p);
        return true;
    }
    if (more_blocks) {
        p.intents = {};
        p.scanned_seq.clear();
        p.intents.rate = {*p.member, rate(p)};
        begin_commit(p, Mode::roster);
        return true;
    }
    bool const stuck = starved || (is_due && !p.since.empty());
    if (stuck && p.machine.reached(p.scan_after)) {
        begin_scan(p, others(p));
        p.machine.go(Phase::run_scan);
        return true;
    }
    return false;
}

void answered_run_poll(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        p.machine.switch_to(Phase::run);
        p.next_poll = p.machine.now() + poll_interval(p);
    } else if (take_next(p, got->bytes)) {
        p.back = Phase::run;
        p.machine.go(Phase::adopt_forward);
    }
}

bool act_run_scan(Parts& p)
{
    if (!act_scan(p)) run_scan_done(p);
    return true;
}

/// Nothing to train and nothing to cut: remove dead members, or merge others' contributions.
void run_scan_done(Parts& p)
{
    constexpr Millis longest_pause{20'000};
    p.scan_after = p.machine.now() + std::clamp(p.run.params.round_time, Millis{50}, longest_pause);
    p.intents = {};
    p.scanned_seq.clear();
    bool all_found = true;
    bool any_found = has_published(p);
    for (auto const& id : others(p)) {
        auto const& m = *p.tip->find(id);
        bool const found = header_of(p, id) != nullptr;
        any_found = any_found || found;
        if (!found && !m.held.empty()) all_found = false;
        if (suspect(p, m)) propose_removal(p, id, Removal::silent);
    }
    if (!p.intents.remove.empty()) return begin_commit(p, Mode::roster);
    if (any_found && (all_found || round_over(p)) && p.machine.reached(p.merge_after))
        return begin_lease(p);
    p.machine.switch_to(Phase::run);
}

void begin_cut(Parts& p, bool leaving)
{
    p.machine.go(Phase::cut);
    p.machine.send(Cut{p.machine.ask(Question::cut), p.next_seq, leaving});
    if (leaving) p.leaving = true;
}

void answered_cut(Parts& p, Input const& input)
{
    auto const& ready = std::get<CutReady>(input);
    if (ready.ranges != p.since)
        throw std::logic_error("cut " + ready.ranges.to_string() + ", but trained " +
                               p.since.to_string());
    auto const parts = p.run.parts.size();
    if (!ready.ranges.empty() && (ready.sumsq.size() != parts || ready.nonfinite.size() != parts))
        throw std::logic_error("a cut must report each part");
    Own own;
    auto& h = own.header;
    h.run = p.run.run;
    h.member = *p.member;
    h.seq = p.next_seq;
    h.base_round = p.base;
    h.leaving = p.leaving;
    h.ranges = ready.ranges;
    h.tokens = ready.ranges.count() * p.run.params.block_tokens;
    h.steps = ready.steps;
    for (auto const n : ready.nonfinite) h.nonfinite += n;
    if (!h.ranges.empty())
        for (std::size_t i = 0; i < parts; ++i) {
            auto const part = delta_part(p.run.parts[i].name);
            h.parts.push_back({{part, delta_name(p.base, *p.member, h.seq, part), 0, {}},
                               ready.sumsq[i],
                               ready.nonfinite[i]});
        }
    if (h.nonfinite > 0) h.parts.clear();
    own.stored = h.parts.empty();
    p.machine.note(
        "cut",
        json::Object{{"member", p.member->value}, {"seq", h.seq.value}, {"tokens", h.tokens}});
    p.undecided.push_back(std::move(own));
    p.next_seq = p.next_seq.next();
    p.since = {};
    p.last_cut = p.machine.now();
    p.machine.go(lone_possible(p) ? Phase::lone_store : Phase::publish_store);
}

/// True if the weights at the last cut contain the round's model and this member's undecided work,
/// and no other member has any.
bool lone_possible(Parts const& p)
{
    bool work = false;
    for (auto const& own : p.undecided) {
        work = work || !own.header.ranges.empty();
        if (own.header.nonfinite > 0) return false;
    }
    return work && lone(p) && p.base == p.tip->round && p.dropped.empty();
}

Own* next_unpublished(Parts& p)
{
    auto const it = std::find_if(p.undecided.begin(), p.undecided.end(),
                                 [](Own const& own) { return !own.published; });
    return it == p.undecided.end() ? nullptr : &*it;
}

bool has_published(Parts const& p)
{
    return std::any_of(p.undecided.begin(), p.undecided.end(),
                       [](Own const& own) { return own.published; });
}

bool act_publish_store(Parts& p)
{
    auto const* own = next_unpublished(p);
    if (own == nullptr) {
        published_all(p);
        return true;
    }
    if (own->stored) {
        p.machine.switch_to(Phase::publish_header);
        return true;
    }
    StoreDelta store{0, own->header.seq, {}};
    for (auto const& part : own->header.parts)
        store.parts.push_back({part.payload.part, part.payload.name});
    store.op = p.machine.ask(Question::store);
    p.machine.send(std::move(store));
    return true;
}

bool act_publish_header(Parts& p)
{
    auto& own = *next_unpublished(p);
    if (!own.encoded) {
        own.header.rate = rate(p);
        own.header.time = store_now(p);
        own.encoded = encode(own.header);
    }
    p.machine.create(header_name(own.header.member, own.header.seq), own.encoded->bytes);
    return true;
}

bool act_publish_read(Parts& p)
{
    auto const& h = next_unpublished(p)->header;
    p.machine.get(header_name(h.member, h.seq));
    return true;
}

void answered_publish(Parts& p, Input const& input)
{
    auto& own = *next_unpublished(p);
    if (auto const* stored = std::get_if<Stored>(&input)) {
        std::vector<std::string> names;
        for (auto const& part : own.header.parts) names.push_back(part.payload.name);
        require_targets(stored->parts, names);
        for (std::size_t i = 0; i < names.size(); ++i)
            own.header.parts[i].payload = stored->parts[i];
        own.stored = true;
        return p.machine.go(Phase::publish_header);
    }
    if (std::holds_alternative<Created>(input)) return contributed(p);
    if (std::holds_alternative<Exists>(input)) return p.machine.go(Phase::publish_read);
    if (auto const* got = std::get_if<Got>(&input)) return header_exists(p, got->bytes);
    if (p.leaving || p.machine.tries() < tries_limit) return p.machine.retry(p.machine.phase());
    p.machine.retry(Phase::run);
    p.publish_after = p.machine.pause_ends() + p.run.params.poll_wait;
    enter_run(p);
}

/// An earlier try of this process created it, or a foreign program did. In the latter case no
/// second header can announce this work.
void header_exists(Parts& p, std::string const& bytes)
{
    auto const& own = *next_unpublished(p);
    if (bytes == own.encoded->bytes) return contributed(p);
    // A single read may be corrupt; a foreign object stays the same in every read.
    if (p.machine.tries() < tries_limit) return p.machine.retry(Phase::publish_read);
    finish(p, ExitCode::protocol,
           Error{ExitCode::protocol,
                 "cannot announce " + std::to_string(own.header.tokens) + " tokens of work",
                 "a foreign object has the name " + header_name(own.header.member, own.header.seq),
                 "make sure that only this run's sites write to the store, then restart the site; "
                 "these blocks are trained again"});
}

void contributed(Parts& p)
{
    auto& own = *next_unpublished(p);
    own.published = true;
    auto const& h = own.header;
    p.machine.note(
        "contributed",
        json::Object{{"member", h.member.value}, {"seq", h.seq.value}, {"tokens", h.tokens}});
    p.machine.go(Phase::publish_store);
}

void published_all(Parts& p)
{
    if (p.leaving) return finish(p, ExitCode::ok);
    if (p.machine.stopping()) return leave(p);
    if (lone(p) || round_over(p)) return begin_lease(p);
    enter_run(p);
}

/// Finishes the step and contributes the work done. A member without a model leaves by a header
/// without work.
void leave(Parts& p)
{
    if (p.loaded) return begin_cut(p, true);
    p.leaving = true;
    Own own;
    own.header.run = p.run.run;
    own.header.member = *p.member;
    own.header.seq = p.next_seq;
    own.header.base_round = p.tip->round;
    own.header.leaving = true;
    own.stored = true;
    p.next_seq = p.next_seq.next();
    p.undecided.push_back(std::move(own));
    p.machine.go(Phase::publish_store);
}

}  // namespace curtail::rounds::site
