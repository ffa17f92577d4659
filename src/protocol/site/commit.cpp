// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// COMMIT and the deletion of unused payloads.
namespace curtail::protocol::site {
namespace {

void after_commit(Parts& p)
{
    p.schedule.back = Phase::run;
    p.machine.go(p.member ? Phase::adopt_forward : Phase::find_commit);
}

// `before` is the time of the commit before the tip.
void landed(Parts& p, Time before)
{
    p.payloads.abandon(p.machine);
    auto const sweep_after = p.chain.run().params.sweep_after;
    // The store's time is divided into periods of `sweep_after`. The member that writes the first
    // commit of a period sweeps, so each period has at most one sweep. A lost sweep does no harm.
    auto const period_of = [&](Time time) { return time.time_since_epoch() / sweep_after; };
    if (p.member && period_of(p.chain.tip()->time) > period_of(before))
        p.machine.send(Sweep{store_now(p), sweep_after});
    if (p.chain.tip()->kind == Commit::Kind::merge) {
        p.machine.send(merged_note(*p.chain.tip()));
        p.mending.due = true;
        p.garbage.begin(*p.chain.tip(), p.chain.run());
        if (p.garbage.walking()) return p.machine.go(Phase::garbage);
    }
    after_commit(p);
}

// True if the next commit is no lone one, or if the stored weights contain exactly the work to be
// included, on top of this round's model.
bool lone_valid(Parts const& p, Commit const& next)
{
    if (p.proposal.mode() != Mode::lone) return true;
    std::vector<std::tuple<MemberId, Seq, float>> included;
    for (auto const& d : next.decided) {
        if (d.refused) return false;
        included.emplace_back(d.member, d.seq, 0.0F);
    }
    bool const work = next.kind == Commit::Kind::merge;
    if (!work) return included.size() == p.contributions.undecided().size();
    if (!p.payloads.made()) return false;
    auto const& key = p.payloads.made()->key;
    bool const on_base =
        p.training.base() == p.chain.tip()->round && key.parent == p.chain.tip()->model;
    return p.contributions.dropped().empty() && key.included == included && on_base;
}

// Builds the next commit on the tip. False: there is nothing to commit now; the phase has changed.
bool draft_commit(Parts& p)
{
    p.proposal.discard_draft();
    auto commit = build(p);
    bool const lone = p.proposal.mode() == Mode::lone;
    if (!commit || !lone_valid(p, *commit)) {
        p.payloads.abandon(p.machine);
        auto const otherwise = p.member ? Phase::adopt_forward : Phase::find_commit;
        // If a commit of others has decided own work, the trainer must drop it before all else.
        bool const publishes = lone && p.contributions.dropped().empty();
        p.machine.go(publishes ? Phase::publish_store : otherwise);
        return false;
    }
    if (commit->kind == Commit::Kind::merge) {
        if (!lone && !has_made(p, key_of(p, *commit))) {
            p.machine.go(Phase::merge);
            return false;
        }
        auto const& made = *p.payloads.made();
        commit->model = {commit->round, made.weights};
        if (commit->outer_step)
            commit->outer = OuterRef{p.chain.run().outer.type, made.momentum.value()};
        p.payloads.bind_newest_to(commit->number);
    }
    if (!set_draft(p, std::move(*commit))) return false;
    if (lone) p.proposal.mark_lone();
    return true;
}

// True if the draft removes a silent member that is not suspect any more. While the draft waited
// for the store, an outage has explained the silence.
bool removes_too_much(Parts const& p)
{
    return std::ranges::any_of(p.proposal.draft()->commit.removed, [&](RemovedMember const& r) {
        auto const* m = p.chain.tip()->find(r.member);
        return r.reason == Removal::silent && m != nullptr && !suspect(p, *m);
    });
}

}  // namespace

void begin_commit(Parts& p, Mode mode)
{
    p.proposal.set_mode(mode);
    p.proposal.discard_draft();
    p.machine.go(Phase::commit_check);
}

std::optional<Commit> build(Parts const& p)
{
    std::vector<KnownContribution> known;
    if (p.proposal.mode() == Mode::lone)
        for (auto const& own : p.contributions.undecided())
            known.push_back({own.header, std::nullopt, {}});
    if (p.proposal.includes_others()) known = p.pending.all();
    auto intents = p.proposal.intents_at(*p.chain.tip());
    // A commit since then may have given blocks to a member that had none.
    std::erase_if(intents.remove, [&](auto const& r) {
        return p.member && r.second == Removal::silent &&
               !suspect(p, *p.chain.tip()->find(r.first));
    });
    intents.heads = p.heads;
    return next(p.chain.run(), *p.chain.tip(), p.chain.tip_sha256(), {writer(p), p.attempt},
                store_now(p), known, intents);
}

// Rebuilds the draft whenever the tip has changed: a record's parent is always its predecessor.
void act_commit_create(Parts& p)
{
    if (!p.proposal.builds_on(p.chain.tip_sha256()) && !draft_commit(p)) return;
    bool const want_time = p.proposal.mode() == Mode::lone;
    p.proposal.note_sent();
    p.machine.create(commit_name(p.proposal.draft()->commit.number),
                     p.proposal.draft()->encoded.bytes, want_time);
}

void answered_commit_create(Parts& p, Input const& input)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    if (unknown != nullptr && unknown->created_nothing) p.proposal.note_not_created();
    p.machine.switch_to(Phase::commit_read);
}

// Keeps an invalid record out of the chain, where no commit could follow it. The headers of other
// sites are the only part that this program did not make, so it first tries without one of them.
bool set_draft(Parts& p, Commit commit)
{
    auto encoded = encode_if_valid(commit, p.chain.run().limits);
    auto error = encoded ? p.chain.check_next(*encoded) : std::optional(encoded.error());
    if (!error) {
        p.proposal.set_draft({std::move(commit), std::move(*encoded)});
        return true;
    }
    if (p.proposal.mode() == Mode::lone) {
        // Its contributions are too long together. A merge can decide one after the other.
        p.payloads.abandon(p.machine);
        p.machine.go(Phase::publish_store);
        return false;
    }
    if (p.proposal.includes_others() && p.pending.postpone_latest()) {
        p.machine.go(Phase::merge);
        return false;
    }
    error->code = ExitCode::software;
    finish(p, error->with_context("cannot make the next commit"));
    return false;
}

void answered_commit_read(Parts& p, Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        auto const round = p.chain.tip()->round;
        auto const before = p.chain.tip()->time;
        if (!take_next(p, got->bytes)) return;
        if (p.proposal.is_draft(p.chain.tip_sha256())) return landed(p, before);
        bool const rebuild =
            p.member && p.chain.tip()->round == round && p.chain.tip()->find(*p.member) != nullptr;
        if (rebuild) return p.machine.go(Phase::commit_check);
        p.payloads.abandon(p.machine);
        return after_commit(p);
    }
    bool const fails = p.machine.tries() >= tries_limit || (p.member && removes_too_much(p));
    if (fails && !p.contributions.leaving()) return give_up(p);
    p.machine.retry(std::holds_alternative<Missing>(input) ? Phase::commit_check
                                                           : Phase::commit_read);
}

void act_garbage(Parts& p) { p.machine.get(commit_name(p.garbage.next())); }

void answered_garbage(Parts& p, Input const& input)
{
    std::optional<Commit> commit;
    if (auto const* got = std::get_if<Got>(&input))
        if (auto read = p.config.decoder->commit(got->bytes, commit_name(p.garbage.next())))
            commit = std::move(*read);
    p.garbage.advance(std::move(commit), p.chain.run(), p.machine);
    if (p.garbage.walking()) p.machine.go(Phase::garbage);
    else after_commit(p);
}

// The create may still land later, so its payload stays until the outcome is known.
void give_up(Parts& p)
{
    p.payloads.abandon(p.machine);
    p.schedule.merge = p.machine.now() + p.chain.run().params.lease / 4;
    p.schedule.back = Phase::run;
    if (!p.member) p.machine.retry(Phase::find_commit);
    else p.machine.go(Phase::adopt_forward);
}

}  // namespace curtail::protocol::site
