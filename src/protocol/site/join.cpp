// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "protocol/records/terms.hpp"
#include "protocol/rules/quarantine.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// GENESIS, FOLD, JOIN.
namespace curtail::protocol::site {
namespace {

// Looks at the chain again after `wait`, or earlier.
void wait_to_join(Parts& p, Millis wait)
{
    p.machine.go(Phase::find_commit);
    p.machine.pause_until(p.machine.now() + std::min(wait, p.chain.run().params.poll_run));
}

// Exits if the run does not list this site. Waits while the site is in quarantine. False:
// the process must not join now.
bool may_join(Parts& p)
{
    auto const& tip = *p.chain.tip();
    auto const& site = p.config.process.site;
    if (may_enter(tip, site, store_now(p))) return true;
    auto const* quarantine = quarantine_of(tip, site, store_now(p));
    if (quarantine == nullptr) finish(p, retired_error(p));
    else wait_to_join(p, std::max(Millis{0}, quarantine->until - store_now(p)));
    return false;
}

}  // namespace

void act_genesis_store(Parts& p)
{
    ++p.attempt;
    auto const place = payload_place(p, {1}, weights_part);
    p.payloads.begin({place.name});
    p.machine.send(MakeInitial{p.machine.ask(Question::store), p.chain.run().seed, place});
}

void act_genesis_create(Parts& p)
{
    p.machine.create(commit_name({1}), p.proposal.draft()->encoded.bytes);
}

void answered_genesis_create(Parts& p, Input const& input)
{
    p.search.restart();
    p.payloads.release_newest();
    p.machine.go(Phase::find_commit);
    // If it is missing, the next try stores another whole model.
    if (std::holds_alternative<Unknown>(input))
        p.machine.pause_until(p.machine.now() + p.config.run.params.poll_wait);
}

void answered_genesis_store(Parts& p, Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored == nullptr) {
        p.payloads.abandon(p.machine);
        return p.machine.retry(Phase::genesis_store);
    }
    p.payloads.require_newest(stored->payload);
    auto commit = genesis(p.chain.run(), p.chain.run_sha256(), {writer(p), p.attempt}, store_now(p),
                          stored->payload);
    auto encoded = encode(commit);
    p.proposal.set_draft({std::move(commit), std::move(encoded)});
    p.payloads.bind_newest_to({1});
    p.machine.go(Phase::genesis_list);
}

// Meanwhile, another process may have begun the run, and the store may even have lost commit 1.
void answered_genesis_list(Parts& p, Input const& input)
{
    auto const* listed = std::get_if<Listed>(&input);
    if (listed == nullptr) return p.machine.retry(Phase::genesis_list);
    if (listed->numbers.empty()) return p.machine.switch_to(Phase::genesis_create);
    p.known.listed = false;
    answered_genesis_create(p, input);
}

// No member is alive: as a non-member, decide all pending contributions and remove members without
// one. Never rebuilt on a commit of a newcomer.
void act_fold(Parts& p)
{
    p.proposal.clear_intents();
    for (auto const& m : p.chain.tip()->members) {
        p.folded.add(m.id, p.pending.last_of(m));
        propose_removal(p, m.id,
                        p.predecessors.has_ended(m.id) ? Removal::succeeded : Removal::silent);
    }
    p.proposal.set_mode(Mode::fold);
    p.proposal.discard_draft();
    if (build(p)) return p.machine.go(Phase::merge);
    // The remaining members have unreadable headers; members remove them if that persists.
    begin_scan(p, earlier_instances(p));
    p.machine.go(Phase::join_headers);
}

void act_join_headers(Parts& p)
{
    if (!act_scan(p) && !repeat_scan(p, earlier_instances(p))) p.machine.go(Phase::join_check);
}

MemberId const* own_member(Parts const& p)
{
    auto const& members = p.chain.tip()->members;
    auto const it = std::ranges::find_if(members, [&](Member const& m) {
        return m.site == p.config.process.site && member_parts(m.id).process == p.config.process;
    });
    return it == members.end() ? nullptr : &it->id;
}

void act_join(Parts& p)
{
    if (auto const* own = own_member(p)) {
        p.member = *own;
        p.schedule.status = p.machine.now() + p.chain.run().params.status_interval;
        if (!std::exchange(p.noted_differences, true))
            for (auto& text : differences(p.chain.tip()->terms, terms_of(p.config.run)))
                p.machine.send(terms_differ_note(std::move(text)));
        return begin_base(p);
    }
    if (!may_join(p)) return;
    if (!p.proposal.builds_on(p.chain.tip_sha256())) {
        p.proposal.set_mode(Mode::roster);
        p.proposal.clear_intents();
        p.proposal.admit({p.config.process, rate(p)});
        for (auto const& id : earlier_instances(p)) propose_removal(p, id, Removal::succeeded);
        auto const id = member_id(p.config.process, p.chain.tip()->number.next());
        auto commit = next(p.chain.run(), *p.chain.tip(), p.chain.tip_sha256(), {id, ++p.attempt},
                           store_now(p), {}, p.proposal.intents_at(*p.chain.tip()));
        // The table of members is full.
        if (!commit) return wait_to_join(p, p.chain.run().params.poll_wait);
        if (!set_draft(p, std::move(*commit))) return;
    }
    p.machine.create(commit_name(p.proposal.draft()->commit.number),
                     p.proposal.draft()->encoded.bytes);
}

void answered_join(Parts& p, Input const& input)
{
    if (p.machine.phase() == Phase::join_create) return p.machine.switch_to(Phase::join_read);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!take_next(p, got->bytes) || is_too_slow_to_find(p)) return;
        begin_scan(p, earlier_instances(p));
        p.machine.go(Phase::join_headers);
        if (!p.proposal.is_draft(p.chain.tip_sha256()))
            p.machine.pause_until(
                p.machine.now() +
                p.machine.jitter(std::min(Millis{2'000}, p.chain.run().params.poll_wait)));
        return;
    }
    constexpr int tries_to_join = 8;
    if (p.machine.tries() >= tries_to_join) return p.machine.go(Phase::find_commit);
    p.machine.retry(std::holds_alternative<Missing>(input) ? Phase::join_check : Phase::join_read);
}

}  // namespace curtail::protocol::site
