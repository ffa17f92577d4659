// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "rounds/site/steps.hpp"

/// Reading the chain, COMMIT, ADOPT and the deletion of unused payloads.
namespace curtail::rounds::site {

bool take_next(Parts& p, std::string const& bytes)
{
    if (auto error = p.chain.advance(bytes)) {
        refuse(p, *error);
        return false;
    }
    p.failures.bad_reads = 0;
    p.failures.loads = 0;
    p.payloads.settle(*p.chain.tip(), p.machine);
    if (p.chain.tip()->kind == Commit::Kind::merge) p.lease = {};
    p.pending.forget_decided(*p.chain.tip());
    p.scan.forget_decided(*p.chain.tip());
    if (p.chain.tip()->complete) finish(p, ExitCode::ok);
    else if (p.member) own_decisions(p);
    return !p.machine.exited();
}

/// Applies the tip's decisions on this member.
void own_decisions(Parts& p)
{
    p.contributions.decide(p.chain.tip()->find(*p.member));
    for (auto const& r : p.chain.tip()->removed)
        if (r.member == *p.member) p.removal = r.reason;
    for (auto const& d : p.chain.tip()->decided)
        if (d.member == *p.member) p.history.decided(d);
    if (!p.history.diverged()) return;
    finish(p, ExitCode::data,
           Error{ExitCode::data, "cannot continue training",
                 "three rounds in a row were refused for values that are not finite",
                 "lower the learning rate, or check this site's hardware"});
}

void begin_commit(Parts& p, Mode mode)
{
    p.proposal.set_mode(mode);
    p.proposal.discard_draft();
    p.machine.go(Phase::commit_create);
}

std::optional<Commit> build(Parts const& p)
{
    std::vector<Found> found;
    if (p.proposal.mode() == Mode::lone)
        for (auto const& own : p.contributions.undecided())
            found.push_back({own.header, std::nullopt, {}});
    if (p.proposal.includes_others()) found = p.pending.all();
    return next(p.chain.run(), *p.chain.tip(), p.chain.tip_sha256(), {writer(p), p.attempt},
                store_now(p), found, p.proposal.intents_at(*p.chain.tip()));
}

/// Rebuilds the draft whenever the tip has changed: a record's parent is always its predecessor.
bool act_commit_create(Parts& p)
{
    if (!p.proposal.builds_on(p.chain.tip_sha256()) && !draft_commit(p)) return true;
    p.machine.create(commit_name(p.proposal.draft()->commit.number),
                     p.proposal.draft()->encoded.bytes);
    return true;
}

/// Builds the next commit on the tip. False: there is nothing to commit now; the phase has changed.
bool draft_commit(Parts& p)
{
    p.proposal.discard_draft();
    auto commit = build(p);
    bool const lone = p.proposal.mode() == Mode::lone;
    if (!commit || (lone && !lone_valid(p, *commit))) {
        p.payloads.abandon(p.machine);
        auto const otherwise =
            p.proposal.mode() == Mode::fold ? Phase::find_commit : Phase::adopt_forward;
        p.machine.go(lone ? Phase::publish_store : otherwise);
        return false;
    }
    if (commit->kind == Commit::Kind::merge) {
        if (!lone && !has_made(p, key_of(p, *commit))) {
            p.machine.go(Phase::merge);
            return false;
        }
        auto const& made = *p.payloads.made();
        commit->model = {commit->round, made.model};
        if (commit->outer_step) commit->outer = OuterRef{p.chain.run().outer.type, made.momentum};
        p.payloads.send_under(commit->number);
    }
    if (!set_draft(p, std::move(*commit))) return false;
    if (lone) p.proposal.send_lone();
    return true;
}

void answered_commit_create(Parts& p, Input const&) { p.machine.switch_to(Phase::commit_read); }

/// Keeps an invalid record out of the chain, where no commit could follow it. The headers of other
/// sites are the only part that this program did not make, so they are suspected first.
bool set_draft(Parts& p, Commit commit)
{
    auto encoded = encode(commit);
    auto error = p.chain.check_next(encoded);
    if (!error) {
        p.proposal.set_draft({std::move(commit), std::move(encoded)});
        return true;
    }
    if (p.proposal.includes_others() && p.pending.refuse_widest(p.chain.run())) {
        p.machine.go(Phase::merge);
        return false;
    }
    error->code = ExitCode::software;
    finish(p, ExitCode::software, error->within("cannot make the next commit"));
    return false;
}

/// True if the stored weights contain exactly the work to be included, on top of this round's
/// model.
bool lone_valid(Parts const& p, Commit const& next)
{
    std::vector<std::tuple<MemberId, Seq, float>> included;
    for (auto const& d : next.decided) {
        if (d.refused) return false;
        included.emplace_back(d.member, d.seq, 0.0F);
    }
    return p.contributions.dropped().empty() && p.training.base() == p.chain.tip()->round &&
           p.payloads.made() && p.payloads.made()->key.parent == p.chain.tip()->model &&
           p.payloads.made()->key.included == included;
}

void answered_commit_read(Parts& p, Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        auto const round = p.chain.tip()->round;
        if (!take_next(p, got->bytes)) return;
        if (p.proposal.is_draft(p.chain.tip_sha256())) return landed(p);
        bool const rebuild = p.proposal.mode() != Mode::fold && p.chain.tip()->round == round &&
                             p.chain.tip()->find(*p.member) != nullptr;
        if (rebuild) return p.machine.go(Phase::commit_create);
        p.payloads.abandon(p.machine);
        return after_commit(p);
    }
    if (!p.contributions.leaving() && p.machine.tries() >= tries_limit) return give_up(p);
    p.machine.retry(std::holds_alternative<Missing>(input) ? Phase::commit_create
                                                           : Phase::commit_read);
}

void landed(Parts& p)
{
    p.payloads.abandon(p.machine);
    if (p.chain.tip()->kind == Commit::Kind::merge) {
        std::set<SiteId> sites;
        std::int64_t tokens = 0;
        for (auto const& d : p.chain.tip()->decided) {
            if (d.refused || d.ranges.empty()) continue;
            sites.insert(member_parts(d.member).process.site);
            tokens += d.tokens;
        }
        p.machine.note("merged", json::Object{{"commit", p.chain.tip()->number.value},
                                              {"round", p.chain.tip()->round.value},
                                              {"sites", static_cast<std::int64_t>(sites.size())},
                                              {"tokens", tokens}});
        p.garbage.begin(*p.chain.tip(), p.chain.run());
        if (p.garbage.walking()) return p.machine.go(Phase::garbage);
    }
    after_commit(p);
}

bool act_garbage(Parts& p)
{
    p.machine.get(commit_name(p.garbage.next()));
    return true;
}

void answered_garbage(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    p.garbage.advance(got != nullptr ? &got->bytes : nullptr, p.chain.run(), p.machine);
    if (p.garbage.walking()) p.machine.go(Phase::garbage);
    else after_commit(p);
}

void after_commit(Parts& p)
{
    p.schedule.back = Phase::run;
    p.machine.go(p.proposal.mode() == Mode::fold ? Phase::find_commit : Phase::adopt_forward);
}

/// The create may still land later, so its payload stays until the outcome is known.
void give_up(Parts& p)
{
    p.payloads.abandon(p.machine);
    p.schedule.merge = p.machine.now() + p.chain.run().params.lease / 4;
    p.schedule.back = Phase::run;
    if (p.proposal.mode() == Mode::fold && !p.member) p.machine.retry(Phase::find_commit);
    else p.machine.go(Phase::adopt_forward);
}

void answered_adopt_forward(Parts& p, Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        if (take_next(p, got->bytes)) p.machine.go(Phase::adopt_forward);
    } else p.machine.switch_to(Phase::adopt_apply);
}

bool act_adopt_apply(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) {
        removed(p);
        return true;
    }
    if (p.contributions.leaving()) {
        p.machine.go(Phase::publish_store);
        return true;
    }
    if (p.chain.tip()->round == p.training.base() && p.contributions.dropped().empty()) {
        resume(p);
        return true;
    }
    p.training.request(p.chain.tip()->round);
    bool const own = p.proposal.lone_is(p.chain.tip_sha256()) &&
                     p.training.base().next() == p.chain.tip()->round;
    p.machine.send(Adopt{p.machine.ask(Question::adopt), p.chain.tip()->model, own,
                         p.contributions.dropped(), p.chain.tip()->number});
    return true;
}

void answered_adopt(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Adopted>(input)) {
        if (!load_failed(p, input)) p.machine.retry(Phase::adopt_forward);
        return;
    }
    p.contributions.forget_dropped();
    p.failures.loads = 0;
    if (p.training.adopted(p.machine.now())) {
        p.schedule.back = Phase::run;
        p.machine.note("adopted", json::Object{{"commit", p.chain.tip()->number.value},
                                               {"round", p.chain.tip()->round.value}});
    }
    resume(p);
}

/// Returns to the interrupted phase if the round is the same and a contribution awaits its merge.
void resume(Parts& p)
{
    if (!p.contributions.has_published()) p.schedule.back = Phase::run;
    if (p.schedule.back == Phase::run) return enter_run(p);
    if (p.schedule.back == Phase::gather_headers) begin_scan(p, others(p));
    p.machine.go(p.schedule.back);
}

}  // namespace curtail::rounds::site
