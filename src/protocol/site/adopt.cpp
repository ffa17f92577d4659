// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/rules/clipping.hpp"
#include "protocol/rules/decided_work.hpp"
#include "protocol/rules/skips.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// Reading the chain and ADOPT.
namespace curtail::protocol::site {
namespace {

// True if this site has contributed skipped blocks only, three times in a row, and the blocks are
// not to blame: another site can train on them, or no more blocks can be set aside.
bool keeps_failing(Parts const& p)
{
    auto const& tip = *p.chain.tip();
    auto const blocks = p.history.only_skipped();
    if (blocks.empty()) return false;
    if (is_aside_full(p.chain.run(), tip)) return true;
    bool others = false;
    for (auto const& m : tip.members) others = others || m.site != p.config.process.site;
    auto suspected = tip.aside;
    for (auto const& s : tip.skips)
        if (s.site != p.config.process.site) suspected += s.blocks;
    return others && !suspected.overlaps(blocks);
}

// Says which of this member's contributions the tip refuses or clips. `norms` are those of the
// commit before.
void report_decisions(Parts& p, std::vector<double> const& norms)
{
    auto const& tip = *p.chain.tip();
    auto const factors = clip_factors(norms, tip.decided);
    for (std::size_t i = 0; i < factors.size(); ++i) {
        auto const& d = tip.decided[i];
        if (d.member != *p.member) continue;
        if (d.refused) report_loss(p, refused_note(d, tip.number), d.tokens);
        if (factors[i] < 1) p.machine.send(clipped_note(d, tip.number, factors[i]));
    }
}

// Applies the tip's decisions on this member. `round` is that of the commit before.
void own_decisions(Parts& p, Round round)
{
    auto const& tip = *p.chain.tip();
    for (auto const& d : tip.decided) {
        if (d.member != *p.member) continue;
        p.contributions.remove_decided(d.seq);
        p.history.decided(d);
        p.pace.decided(d, round);
    }
    if (tip.kind == Commit::Kind::merge) {
        bool const is_decided =
            std::ranges::any_of(tip.decided, [&](auto const& d) { return d.member == *p.member; });
        if (!is_decided && p.contributions.count() == 0) p.training.miss_merge();
        p.contributions.doubt();
    }
    for (auto const& r : tip.removed)
        if (r.member == *p.member) p.removal = r.reason;
    if (tip.complete) return p.removal == Removal::complete ? finish(p) : removed(p);
    if (keeps_failing(p))
        return finish(
            p,
            Error{
                ExitCode::data, "training diverged",
                "the loss or a gradient of every step was not finite in three contributions in a "
                "row",
                "check this site's hardware; if other sites fail too, start a new run with a lower "
                "learning rate, or continue from an earlier commit with `curtail-store fork`"});
    if (p.history.diverged())
        finish(p,
               Error{ExitCode::data, "cannot continue training",
                     "three rounds in a row were refused for values that are not finite",
                     "check this site's hardware, or continue from an earlier commit with a lower "
                     "learning rate: `curtail-store fork`"});
}

// Returns to the interrupted phase if the round is the same and a contribution awaits its merge.
void resume(Parts& p)
{
    if (!p.contributions.has_published()) p.schedule.back = Phase::run;
    if (p.schedule.back == Phase::run) return enter_run(p);
    if (p.schedule.back == Phase::gather_headers) begin_scan(p, others(p));
    p.machine.go(p.schedule.back);
}

// Others may have merged several times during a step. A cut on the model that was new before the
// step would come too late.
void poll_after_long_step(Parts& p)
{
    auto const waited = p.machine.now() - p.machine.asked();
    bool const is_long = waited > p.chain.run().params.poll_run && waited <= p.pace.step();
    bool const cuts = p.training.paused();
    if (is_long && (!cuts || p.training.looks_again())) p.schedule.poll = p.machine.now();
}

// Returns what the commit states that its contribution's header does not; empty: nothing. Only the
// digest of a refused one matters, because the model does not contain it.
std::string difference_to(Commit const& c, ContributionDecision const& d, Header const& header,
                          Digest const& sha256)
{
    if (sha256 != d.header) return "digest";
    return d.refused ? std::string() : differing_work(c, d, header);
}

// Lists the contributions that the newest merge decides, and whose headers this process has not
// read yet.
void list_unread_decisions(Parts& p)
{
    auto const& tip = *p.chain.tip();
    if (tip.kind != Commit::Kind::merge) return;
    p.unread = {tip, {}};
    if (p.proposal.is_draft(p.chain.tip_sha256())) return;
    for (auto const& d : tip.decided) {
        Key const key{d.member, d.seq};
        if (d.inlined) continue;
        auto const* known = p.pending.contains(key) ? &p.pending.at(key) : nullptr;
        bool const same = known != nullptr && known->sha256 &&
                          difference_to(tip, d, known->header, *known->sha256).empty();
        if (!same) p.unread.decided.push_back(d);
    }
}

}  // namespace

bool take_next(Parts& p, std::string const& bytes)
{
    auto const before = p.chain.tip()->amended;
    auto const terms = p.chain.tip()->terms;
    auto const norms = p.chain.tip()->norms;
    auto const began = p.chain.round_began();
    auto const round = p.chain.tip()->round;
    if (auto error = p.chain.advance(bytes)) {
        handle_invalid_record(p, foreign_commit(*error));
        return false;
    }
    p.failures.bad_reads = 0;
    p.failures.loads = 0;
    p.machine.send(KeepCommit{p.chain.tip()->number, bytes});
    p.payloads.settle(*p.chain.tip(), p.machine);
    p.watch.observe(*p.chain.tip(), p.machine.now());
    if (p.chain.tip()->kind == Commit::Kind::merge) {
        p.lease = {};
        if (began) p.pace.take_round(p.chain.tip()->time - *began);
    }
    if (p.chain.tip()->kind == Commit::Kind::merge || p.chain.tip()->amended != before)
        p.amendments.look_again();
    if (p.chain.tip()->amended != before) report_void_amendment(p, terms);
    list_unread_decisions(p);
    p.pending.forget_decided(*p.chain.tip());
    p.pending.resume_all();
    p.scan.forget_decided(*p.chain.tip());
    if (p.member) {
        report_decisions(p, norms);
        own_decisions(p, round);
    } else if (p.chain.tip()->complete) finish(p);
    return !p.machine.exited();
}

void answered_forward(Parts& p, Input const& input)
{
    auto const phase = p.machine.phase();
    if (auto const* got = std::get_if<Got>(&input)) {
        if (take_next(p, got->bytes)) p.machine.go(phase);
    } else
        p.machine.switch_to(phase == Phase::adopt_forward ? Phase::adopt_headers
                                                          : Phase::base_load);
}

void act_adopt_headers(Parts& p)
{
    if (p.unread.decided.empty() || p.machine.stopping())
        return p.machine.switch_to(Phase::adopt_apply);
    auto const& d = p.unread.decided.back();
    p.machine.get(header_name(d.member, d.seq));
}

// A header that the store does not return contradicts nothing.
void answered_adopt_headers(Parts& p, Input const& input)
{
    auto const& commit = p.unread.commit;
    auto const d = p.unread.decided.back();
    auto const name = header_name(d.member, d.seq);
    p.unread.decided.pop_back();
    p.machine.go(Phase::adopt_headers);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return;
    auto const header = p.config.decoder->header(got->bytes, name);
    if (!header) return;
    auto const differing = difference_to(commit, d, *header, sha256(got->bytes));
    if (differing.empty()) return;
    auto const number = std::to_string(commit.number.value);
    finish(p, Error{ExitCode::protocol, "cannot adopt the model of commit " + number,
                    "it states another " + differing + " than " + name,
                    "another program has written this commit; begin a new run from commit " +
                        std::to_string(commit.number.value - 1) + " with `curtail-store fork`"});
}

void act_adopt_apply(Parts& p)
{
    if (p.chain.tip()->find(*p.member) == nullptr) return removed(p);
    if (p.contributions.leaving()) return p.machine.go(Phase::publish_store);
    if (p.chain.tip()->round == p.training.base() && p.contributions.dropped().empty())
        return resume(p);
    p.training.request(p.chain.tip()->round);
    bool const same = p.chain.tip()->round == p.training.base() && !p.contributions.drops_work();
    bool const own = p.proposal.lone_is(p.chain.tip_sha256()) &&
                     p.training.base().next() == p.chain.tip()->round;
    if (p.pace.is_too_slow()) return leave(p);
    if (!own && !same) begin_read(p);
    p.machine.send(Adopt{p.machine.ask(Question::adopt), p.chain.tip()->model, own || same,
                         p.contributions.dropped(), p.chain.tip()->number});
}

void answered_adopt(Parts& p, Input const& input)
{
    if (!std::holds_alternative<Adopted>(input)) {
        if (!load_failed(p, input, Phase::adopt_apply)) p.machine.retry(Phase::adopt_forward);
        return;
    }
    p.pace.end_read(p.machine.now());
    p.contributions.forget_dropped();
    load_succeeded(p);
    p.training.pause();
    if (p.training.adopted(round_end(p))) {
        p.schedule.back = Phase::run;
        keep_model(p);
        p.machine.send(adopted_note(*p.chain.tip()));
    }
    resume(p);
    if (p.machine.phase() == Phase::run) poll_after_long_step(p);
}

}  // namespace curtail::protocol::site
