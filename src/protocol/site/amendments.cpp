// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/amendments.hpp"

#include <algorithm>

#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

namespace curtail::protocol::site {
namespace {

void look_done(Parts& p)
{
    p.amendments.looked();
    if (p.member) p.machine.switch_to(Phase::run);
    else choose_entry(p);
}

void look_later(Parts& p, Millis pause)
{
    look_done(p);
    p.amendments.look_again();
    p.schedule.amendment = p.machine.now() + pause;
}

}  // namespace

std::optional<NextAmendment> Amendments::take(std::string const& bytes, Commit const& tip,
                                              Digest const& run_sha256, MonoTime now)
{
    auto const n = next_amendment(tip);
    NextAmendment next{{n, sha256(bytes)}, std::nullopt, {}};
    auto amendment = decode_amendment(bytes, amendment_name(n));
    if (amendment) {
        auto const& previous = tip.amended ? tip.amended->sha256 : run_sha256;
        if (amendment->previous == previous) next.amendment = std::move(*amendment);
        else next.why = "it does not name its predecessor";
        return next;
    }
    next.why = amendment.error().message();
    if (invalid_ != next.ref) {
        invalid_ = next.ref;
        reads_ = 0;
        since_ = now;
    }
    bool const unreadable = ++reads_ >= reads_limit && now - since_ >= unreadable_after;
    return unreadable ? std::optional(next) : std::nullopt;
}

void act_amendment(Parts& p) { p.machine.get(amendment_name(next_amendment(*p.chain.tip()))); }

void answered_amendment(Parts& p, Input const& input)
{
    if (std::holds_alternative<Missing>(input)) return look_done(p);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return look_later(p, p.chain.run().params.poll_wait);
    auto next =
        p.amendments.take(got->bytes, *p.chain.tip(), p.chain.run_sha256(), p.machine.now());
    if (!next) return look_later(p, Seconds{6});
    p.amendments.looked();
    p.proposal.clear_intents();
    p.proposal.amend(std::move(*next));
    begin_commit(p, p.member ? Mode::roster : Mode::amend);
}

void report_void_amendment(Parts& p, Terms const& before)
{
    auto const& next = p.proposal.amendment();
    if (!next || next->ref != p.chain.tip()->amended) return;
    auto why = next->why;
    if (next->amendment) {
        auto commit = *p.chain.tip();
        commit.terms = before;
        auto const after = amended(p.chain.run(), commit, *next->amendment);
        if (!after) why = after.error();
    }
    if (!why.empty()) p.machine.send(amendment_void_note(next->ref.number, std::move(why)));
}

bool retired(Parts const& p)
{
    return std::ranges::count(p.chain.tip()->terms.sites, p.config.process.site) == 0;
}

Error retired_error(Parts const& p)
{
    return {ExitCode::config, "cannot take part in run " + p.chain.run().run.value,
            "site " + p.config.process.site.value + " is not in its list of sites",
            "add the site with `curtail-store amend`"};
}

}  // namespace curtail::protocol::site
