// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/next.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "protocol/records/terms.hpp"
#include "protocol/rules/clipping.hpp"
#include "protocol/rules/heads.hpp"
#include "protocol/rules/merge.hpp"
#include "protocol/rules/quarantine.hpp"
#include "protocol/rules/refusal.hpp"
#include "protocol/rules/skips.hpp"

namespace curtail::protocol {
namespace {

using MemberIterator = std::vector<Member>::iterator;

MemberIterator find_member(std::vector<Member>& members, MemberId const& id)
{
    return std::ranges::find(members, id, &Member::id);
}

// Step 1: includes or refuses every contribution that is next in its member's order.
class Decisions {
  public:
    Decisions(RunSpec const& run, Commit const& parent, Commit& out)
        : run_(run), parent_(parent), out_(out)
    {
    }

    void decide(KnownContribution const& known)
    {
        auto const& header = known.header;
        auto const member = find_member(out_.members, header.member);
        if (member == out_.members.end() || header.seq != member->seq.next()) return;
        auto const reason = known.bad ? known.bad : refusal(run_, parent_, member->held, header);
        out_.decided.push_back(decision(known, reason));
        if (!reason) include(header);
        member->held -= header.ranges + header.skipped;
        count_refusal(reason, *member);
        member->seq = header.seq;
        member->missed = 0;
        member->seen = out_.time;
        if (!reason && header.rate > 0) member->rate = header.rate;
        decided_.insert(header.member);
        raise_heads(out_.heads, member->site, header.heads);
        bool const strikes_out = member->refused >= refusals_until_quarantine;
        if (!header.leaving && !strikes_out) return;
        if (strikes_out) begin_quarantine(run_, member->site, *reason, out_);
        out_.removed.push_back({header.member, strikes_out ? Removal::quarantined : Removal::left});
        out_.members.erase(member);
    }
    [[nodiscard]] bool has(MemberId const& id) const { return decided_.contains(id); }
    [[nodiscard]] bool any() const { return !decided_.empty(); }
    [[nodiscard]] bool new_model() const { return new_model_; }

  private:
    [[nodiscard]] ContributionDecision decision(KnownContribution const& known,
                                                std::optional<Refusal> reason) const
    {
        auto const& header = known.header;
        ContributionDecision d{header.member, header.seq,    reason,       known.sha256,
                               header.ranges, header.tokens, header.steps, header.skipped};
        if (header.base_round.value > 0)
            d.staleness = std::max<std::int64_t>(0, parent_.round.value - header.base_round.value);
        d.norm = delta_norm(header);
        d.inlined = !known.sha256;
        return d;
    }
    void include(Header const& header)
    {
        out_.done += header.ranges;
        out_.totals.tokens += header.tokens;
        out_.totals.steps += header.steps;
        forget_skips(run_, header.ranges, out_);
        count_skipped(run_, member_parts(header.member).process.site, header.skipped, out_);
        new_model_ = new_model_ || !header.ranges.empty();
    }
    RunSpec const& run_;
    Commit const& parent_;
    Commit& out_;
    std::set<MemberId> decided_;
    bool new_model_{false};
};

// Step 4: admits the process unless an earlier create of its own has landed.
bool admit(RunSpec const& run, Commit& out, Admission const& admission)
{
    if (out.members.size() >= run.limits.members) return false;
    auto const same = [&](Member const& m) {
        return member_parts(m.id).process == admission.process;
    };
    if (std::any_of(out.members.begin(), out.members.end(), same)) return false;
    if (!may_enter(out, admission.process.site, out.time)) return false;
    Member m{.id = member_id(admission.process, out.number),
             .site = admission.process.site,
             .seq = {},
             .held = {},
             .rate = admission.rate,
             .since_round = out.round,
             .seen = out.time};
    auto const at = std::ranges::upper_bound(out.members, m.id, {}, &Member::id);
    out.members.insert(at, std::move(m));
    return true;
}

// Turns the decisions into a merge commit.
void begin_round(RunSpec const& run, Commit const& parent, Decisions const& decisions, Commit& out)
{
    out.kind = Commit::Kind::merge;
    out.round = parent.round.next();
    set_scales(run, parent, out.decided);
    out.outer_step = makes_outer_step(run, parent, out.decided);
    for (auto const norm : norms_in(out.decided)) out.norms.push_back(norm);
    keep_last(out.norms, norms_kept);
    out.recent.push_back({out.round, out.number});
    keep_last(out.recent, static_cast<std::size_t>(run.params.keep_models) + 1);
    for (auto& m : out.members)
        if (!decisions.has(m.id) && m.since_round < parent.round) ++m.missed;
}

// A roster commit on `parent` without any change yet.
Commit successor(Commit const& parent, Digest const& parent_sha256, CommitWriter const& by,
                 Time now)
{
    Commit out = parent;
    out.number = parent.number.next();
    out.parent = parent_sha256;
    out.kind = Commit::Kind::roster;
    out.decided.clear();
    out.removed.clear();
    out.outer_step = false;
    out.by = by;
    out.time = now;
    return out;
}

std::vector<KnownContribution const*> in_order(std::span<KnownContribution const> known)
{
    std::vector<KnownContribution const*> list;
    for (auto const& k : known) list.push_back(&k);
    std::ranges::sort(list, {}, [](KnownContribution const* k) {
        return std::tie(k->header.member, k->header.seq);
    });
    return list;
}

// Step 2. True if it changes the writer's rate.
bool set_rate(Commit& out, Intents const& intents)
{
    if (!intents.rate) return false;
    auto const me = find_member(out.members, intents.rate->first);
    if (me == out.members.end() || me->rate == intents.rate->second) return false;
    me->rate = intents.rate->second;
    return true;
}

// Step 3. True if it removes a member.
bool remove_members(Commit& out, Intents const& intents, Decisions const& decisions)
{
    bool changed = false;
    for (auto const& [id, reason] : intents.remove) {
        auto const member = find_member(out.members, id);
        if (member == out.members.end() || decisions.has(id)) continue;
        out.members.erase(member);
        out.removed.push_back({id, reason});
        changed = true;
    }
    return changed;
}

// Ends a run whose stream is done, apart from blocks set aside. True if it does.
bool complete_if_done(RunSpec const& run, Commit& out)
{
    if (out.done + out.aside != Ranges::between(0, run.stream_blocks())) return false;
    out.complete = true;
    for (auto const& m : out.members) out.removed.push_back({m.id, Removal::complete});
    out.members.clear();
    return true;
}

// The last step of a roster commit. True if it takes in an amendment.
bool take_in(RunSpec const& run, std::optional<NextAmendment> const& amend, Commit& out)
{
    auto const next = out.amended ? out.amended->number + 1 : 1;
    bool const takes = amend && amend->ref.number == next && !out.complete;
    if (!takes || out.kind != Commit::Kind::roster) return false;
    out.amended = amend->ref;
    if (!amend->amendment) return true;
    auto terms = amended(run, out, *amend->amendment);
    if (!terms) return true;
    out.terms = std::move(*terms);
    if (amend->amendment->zero_momentum) out.outer.reset();
    return true;
}

}  // namespace

std::int64_t grant_target(RunSpec const& run, std::int64_t blocks_left, Rate rate,
                          Rate sum_of_rates)
{
    auto const quantum = run.params.grant_quantum;
    if (rate <= 0) return quantum;
    __extension__ using Wide = __int128;
    auto const up = [](Wide a, Wide b) { return static_cast<std::int64_t>((a + b - 1) / b); };
    Wide const in_two_rounds =
        Wide{2} * rate * run.params.round_time.count();  // 10^-6 blocks/s x ms = 10^-9 blocks
    // The sum has this rate in it.
    auto const share = up(Wide{blocks_left} * rate, std::max(rate, sum_of_rates));
    auto const blocks = std::min(up(in_two_rounds, 1'000'000'000), share);
    return std::max(quantum, up(blocks, quantum) * quantum);
}

std::size_t most_held_ranges(RunSpec const& run, Commit const& commit)
{
    return std::max<std::size_t>(1, run.limits.held_ranges / commit.members.size());
}

void grant(RunSpec const& run, Commit& commit)
{
    auto free = Ranges::between(0, run.stream_blocks()) - commit.done - commit.aside;
    auto const left = free.count();
    Rate sum = 0;
    for (auto const& m : commit.members) {
        free -= m.held;
        sum += m.rate;
    }
    for (auto& m : commit.members) {
        auto const fit = free - better_elsewhere(m.site, commit, commit.members);
        auto const wanted = fit.lowest(grant_target(run, left, m.rate, sum) - m.held.count());
        auto const given = lowest_within(wanted, m.held, most_held_ranges(run, commit));
        m.held += given;
        free -= given;
    }
}

bool makes_outer_step(RunSpec const& run, Commit const& parent,
                      std::span<ContributionDecision const> decided)
{
    if (run.outer.type != Outer::Type::nesterov) return false;
    std::set<SiteId> fresh;
    double tokens = 0;
    for (auto const& d : decided) {
        if (d.refused || d.ranges.empty()) continue;
        if (d.inlined) return false;
        tokens += static_cast<double>(d.tokens);
        if (d.staleness == 0) fresh.insert(member_parts(d.member).process.site);
    }
    if (fresh.size() < 2) return false;
    double rate = 0;
    for (auto const& m : parent.members) rate += static_cast<double>(m.rate);
    // Tokens that the members of `parent` can do in round_time.
    double const capacity = static_cast<double>(run.params.block_tokens) *
                            static_cast<double>(run.params.round_time.count()) * rate / 1e9;
    return tokens >= static_cast<double>(run.params.outer_min_permille) / 1000 * capacity;
}

void set_scales(RunSpec const& run, Commit const& parent,
                std::vector<ContributionDecision>& decided)
{
    std::vector<WeightInput> weighed;
    weighed.reserve(decided.size());
    for (auto const& d : decided)
        weighed.push_back({d.member.value, d.refused ? Tokens{} : d.tokens, d.staleness});
    auto const scale = scales(weighed, run.params.staleness_discount_permille);
    auto const factors = clip_factors(parent.norms, decided);
    for (std::size_t i = 0; i < decided.size(); ++i)
        decided[i].scale = static_cast<float>(factors[i] * double{scale[i]});
}

std::optional<Commit> next(RunSpec const& run, Commit const& parent, Digest const& parent_sha256,
                           CommitWriter const& by, Time now,
                           std::span<KnownContribution const> known, Intents const& intents)
{
    if (parent.complete) return std::nullopt;
    auto const rules = in_force(run, parent);
    auto out = successor(parent, parent_sha256, by, now);
    end_quarantines(out);
    Decisions decisions(rules, parent, out);
    for (auto const* k : in_order(known)) decisions.decide(*k);
    bool changed = decisions.any();
    changed = set_rate(out, intents) || changed;
    changed = remove_members(out, intents, decisions) || changed;
    if (decisions.new_model()) begin_round(rules, parent, decisions, out);
    if (intents.admit) changed = admit(rules, out, *intents.admit) || changed;
    grant(rules, out);
    changed = complete_if_done(rules, out) || changed;
    changed = take_in(run, intents.amend, out) || changed;
    if (!changed) return std::nullopt;
    raise_heads(out.heads, member_parts(by.member).process.site, intents.heads);
    std::ranges::sort(out.removed, {}, &RemovedMember::member);
    return out;
}

Commit genesis(RunSpec const& run, Digest const& run_sha256, CommitWriter const& by, Time now,
               PartRef weights)
{
    Commit c;
    c.run = run.run;
    c.number = {1};
    c.parent = run_sha256;
    c.round = {1};
    c.model = {{1}, std::move(weights)};
    c.terms = terms_of(run);
    c.recent = {{{1}, {1}}};
    c.by = by;
    c.time = now;
    return c;
}

}  // namespace curtail::protocol
