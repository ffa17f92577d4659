// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/check.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/clipping.hpp"
#include "protocol/rules/fork.hpp"
#include "protocol/rules/heads.hpp"
#include "protocol/rules/next.hpp"
#include "protocol/rules/quarantine.hpp"
#include "protocol/rules/refusal.hpp"
#include "protocol/rules/skips.hpp"

namespace curtail::protocol {
namespace {

Error broken(Commit const& c, std::string rule)
{
    return {ExitCode::protocol, "refused commit " + std::to_string(c.number.value), std::move(rule),
            "find the last valid commit with `curtail-status --verify`; the record was edited, "
            "damaged or written by another version"};
}

// Checks the rules one by one and keeps the first broken one.
class Checker {
  public:
    Checker(RunSpec const& run, Commit const& parent, Commit const& child)
        : run_(in_force(run, parent)), parent_(parent), child_(child), expected_(parent)
    {
        expected_.time = child.time;
        end_quarantines(expected_);
    }

    [[nodiscard]] std::optional<Error> run(Digest const& parent_sha256)
    {
        chain(parent_sha256);
        decisions();
        model();
        ledger();
        table();
        holdings();
        ending();
        terms();
        auto const lost = lost_head(parent_.heads, child_.heads);
        require(lost.empty(), "must not forget a piece of the journal ", lost);
        return error_;
    }

  private:
    // Joins the pieces of `rule`, but only if the rule is broken.
    template <class... Pieces>
    void require(bool good, Pieces const&... rule)
    {
        if (good || error_) return;
        std::string text;
        ((text += text_of(rule)), ...);
        error_ = broken(child_, std::move(text));
    }

    static std::string text_of(std::string_view text) { return std::string(text); }
    static std::string text_of(CommitNumber number) { return std::to_string(number.value); }
    static std::string text_of(Member const& m) { return "member " + m.id.value; }
    static std::string text_of(ContributionDecision const& d)
    {
        return "contribution " + d.member.value + "." + std::to_string(d.seq.value);
    }

    void chain(Digest const& parent_sha256)
    {
        require(child_.run == run_.run, "must belong to run ", run_.run.value);
        require(child_.number == parent_.number.next(), "must follow its parent's number");
        require(child_.parent == parent_sha256, "must name the digest of commit ", parent_.number);
        require(!parent_.complete, "must not follow a complete run");
        require(child_.kind != Commit::Kind::genesis, "only commit 1 is a genesis");
    }

    // Each contribution in order, inside its member's holding (I3).
    void decisions()
    {
        for (auto const& m : parent_.members) held_[m.id] = m.held;
        for (auto const& d : child_.decided) {
            auto const* member = parent_.find(d.member);
            require(member != nullptr, d, " must belong to a member");
            if (member == nullptr) {
                decided_.clear();
                return;
            }
            decision(d, *member);
        }
        scales();
    }

    void decision(ContributionDecision const& d, Member const& before)
    {
        require(previous_ <= d.member, "decided must be sorted");
        previous_ = d.member;
        auto& member = decided_.try_emplace(d.member, before).first->second;
        require(d.seq == member.seq.next(), d, " must follow the last decided one of its member");
        require(!is_quarantined(member), d, " comes after its member's quarantine");
        member.seq = d.seq;
        if (!d.refused) include(d);
        held_[d.member] -= d.ranges + d.skipped;
        count_refusal(d.refused, member);
        if (is_quarantined(member)) begin_quarantine(run_, member.site, *d.refused, expected_);
    }

    static bool is_quarantined(Member const& m) { return m.refused >= refusals_until_quarantine; }

    void scales()
    {
        auto scaled = child_.decided;
        set_scales(run_, parent_, scaled);
        if (child_.kind == Commit::Kind::roster)
            for (auto& d : scaled) d.scale = 0;
        require(scaled == child_.decided, "scales must follow from tokens, staleness and norms");
    }

    void include(ContributionDecision const& d)
    {
        require(held_[d.member].contains(d.ranges + d.skipped), d,
                " must lie inside the blocks that its member holds");
        require(!d.ranges.overlaps(d.skipped), d, " must not include blocks that it skipped");
        require(d.staleness <= run_.params.max_staleness, d,
                " must not be staler than max_staleness");
        require(has_tokens(run_, d.ranges, d.tokens), d, " must count its blocks' tokens");
        require(!included_.overlaps(d.ranges), "included ranges must be disjoint");
        included_ += d.ranges;
        totals_.tokens += d.tokens;
        totals_.steps += d.steps;
        forget_skips(run_, d.ranges, expected_);
        count_skipped(run_, member_parts(d.member).process.site, d.skipped, expected_);
    }

    // A merge makes the next round's model; a roster commit repeats its parent's (I1).
    void model()
    {
        bool const merge = child_.kind == Commit::Kind::merge;
        require(merge == !included_.empty(), "must be a merge exactly if it includes work");
        require(child_.round.value == parent_.round.value + (merge ? 1 : 0),
                "round must rise by one with a merge and only then");
        history(merge);
        require(child_.outer_step == (merge && makes_outer_step(run_, parent_, child_.decided)),
                "outer_step must follow from the included contributions");
        if (merge) {
            named_by_rule(child_.model.weights, weights_part);
            require(child_.model.round == child_.round, "model must have the round of its commit");
        } else require(child_.model == parent_.model, "a roster commit must repeat the model");
        if (child_.outer_step) momentum();
        else
            require(child_.outer == parent_.outer || (amends() && !child_.outer),
                    "outer must change with an outer step or an amendment only");
    }

    [[nodiscard]] bool amends() const { return child_.amended != parent_.amended; }

    // Checks what an amendment may change, without the amendment's object.
    void terms()
    {
        if (!amends()) return require(child_.terms == parent_.terms, "terms must stay as they are");
        auto const before = parent_.amended ? parent_.amended->number : 0;
        require(child_.amended && child_.amended->number == before + 1,
                "must take in one amendment after the other");
        require(child_.kind == Commit::Kind::roster, "a merge must take in no amendment");
        if (child_.terms == parent_.terms) return;
        auto const why = obstacle(run_, child_, parent_.terms, child_.terms);
        require(!why, "must not take in an amendment: ", why.value_or(""));
    }

    // The lists of the last merges and norms.
    void history(bool merge)
    {
        auto recent = parent_.recent;
        auto norms = parent_.norms;
        if (merge) {
            recent.push_back({child_.round, child_.number});
            keep_last(recent, static_cast<std::size_t>(run_.params.keep_models) + 1);
            auto const added = norms_in(child_.decided);
            norms.insert(norms.end(), added.begin(), added.end());
            keep_last(norms, norms_kept);
        }
        require(child_.recent == recent, "recent must name the last merges");
        require(child_.norms == norms, "norms must follow from the included contributions");
    }

    void momentum()
    {
        require(child_.outer.has_value(), "an outer step must store momentum");
        if (child_.outer) named_by_rule(child_.outer->momentum, momentum_part);
    }

    void named_by_rule(PartRef const& payload, char const* part)
    {
        require(is_model_name(payload.name, child_.round, part), "part ", part,
                " must be named by the rule");
    }

    // `done` grows by the included blocks only (I2).
    void ledger()
    {
        require(!parent_.done.overlaps(included_), "included blocks must not be done already");
        require(child_.done == parent_.done + included_, "done must grow by the included ranges");
        require(Ranges::between(0, run_.stream_blocks()).contains(child_.done + child_.aside),
                "done and aside must lie inside the stream");
        require(child_.aside == expected_.aside, "aside must follow from the skipped blocks");
        require(child_.skips == expected_.skips, "skipped must follow from the contributions");
        require(child_.quarantine == expected_.quarantine,
                "quarantine must follow from the refusals");
        totals_.tokens += parent_.totals.tokens;
        totals_.steps += parent_.totals.steps;
        require(child_.totals == totals_, "totals must be the sum of contributions");
    }

    // Every member enters once and leaves once, with a reason (I3).
    void table()
    {
        auto const removed = removals();
        for (auto const& m : parent_.members)
            require((child_.find(m.id) != nullptr) != removed.contains(m.id), m,
                    " must stay or be removed");
        MemberId before;
        std::set<Process> processes;
        for (auto const& m : child_.members) {
            require(before < m.id, "members must be sorted and unique");
            before = m.id;
            require(processes.insert(member_parts(m.id).process).second,
                    "a process must be a member only once");
            if (auto const* old = parent_.find(m.id)) stays(*old, m);
            else enters(m);
        }
    }

    std::set<MemberId> removals()
    {
        std::set<MemberId> removed;
        MemberId before;
        for (auto const& r : child_.removed) {
            require(before < r.member, "removed must be sorted");
            before = r.member;
            removed.insert(r.member);
            removal(r);
        }
        return removed;
    }

    void removal(RemovedMember const& r)
    {
        bool const known = parent_.find(r.member) != nullptr ||
                           (r.reason == Removal::complete && admitted_here(r.member));
        require(known, "only a member can be removed");
        auto const it = decided_.find(r.member);
        bool const decided = it != decided_.end();
        if (r.reason == Removal::left)
            require(decided, "a leaving member must leave by a contribution");
        require((r.reason == Removal::quarantined) == (decided && is_quarantined(it->second)),
                "a member must be quarantined exactly after three refusals in a row");
        bool const gone = r.reason == Removal::silent || r.reason == Removal::succeeded;
        if (gone) require(!decided, "a member whose contribution was found must not be removed");
    }

    [[nodiscard]] bool admitted_here(MemberId const& id) const
    {
        return member_parts(id).admitted == child_.number;
    }

    void stays(Member const& old, Member const& now)
    {
        require(now.site == old.site && now.since_round == old.since_round, now,
                " must keep its site and its first round");
        auto const it = decided_.find(now.id);
        if (it == decided_.end()) return undecided_member(old, now);
        auto const& expected = it->second;
        require(now.refused == expected.refused && !is_quarantined(now), now,
                " must count its refusals");
        require(now.seq == expected.seq, now, " must carry its last decided contribution");
        require(now.missed == 0, now, " must count merges without it");
        require(now.rate == old.rate || includes_work_of(now.id) || child_.by.member == now.id, now,
                " must set its rate itself");
        require(now.seen == child_.time, now, " must have the time of its last decision");
    }

    [[nodiscard]] bool includes_work_of(MemberId const& id) const
    {
        return std::ranges::any_of(child_.decided, [&](ContributionDecision const& d) {
            return d.member == id && !d.refused;
        });
    }

    void undecided_member(Member const& old, Member const& now)
    {
        bool const misses = child_.kind == Commit::Kind::merge && old.since_round < parent_.round;
        require(now.seq == old.seq, now, " must carry its last decided contribution");
        require(now.missed == old.missed + (misses ? 1 : 0), now, " must count merges without it");
        require(now.refused == old.refused, now, " must count its refusals");
        require(now.seen == old.seen, now, " must have the time of its last decision");
        require(now.rate == old.rate || child_.by.member == now.id, now,
                " must set its rate itself");
    }

    void enters(Member const& m)
    {
        require(admitted_here(m.id), m, " must have the number of the commit that admits it");
        require(m.site == member_parts(m.id).process.site, m, " must have the site in its id");
        require(m.seq == Seq{} && m.missed == 0 && m.refused == 0 &&
                    m.since_round == child_.round && m.seen == child_.time,
                m, " must start without history");
        require(may_enter(expected_, m.site, child_.time), m,
                " must belong to a site that may enter");
    }

    // A member keeps its blocks, grants follow the rule, no block is held twice (I2).
    void holdings()
    {
        auto all = child_.done + child_.aside;
        require(!child_.done.overlaps(child_.aside), "no block must be done and aside");
        for (auto const& m : child_.members) {
            require(!all.overlaps(m.held),
                    "blocks must be done, aside, held by one member, or free");
            all += m.held;
        }
        if (child_.complete) return;
        auto granted = child_;
        for (auto& m : granted.members) m.held = held_.contains(m.id) ? held_[m.id] : Ranges{};
        grant(run_, granted);
        require(granted.members == child_.members, "blocks must be granted by the rule");
    }

    void ending()
    {
        bool const whole = child_.done + child_.aside == Ranges::between(0, run_.stream_blocks());
        require(child_.complete == whole,
                "must be complete exactly if all blocks are done or aside");
        if (child_.complete) require(child_.members.empty(), "a complete run must have no members");
    }

    RunSpec run_;  // by the terms in force
    Commit const& parent_;
    Commit const& child_;
    Commit expected_;                     // skips, aside and quarantine as they must be
    std::map<MemberId, Ranges> held_;     // before grants
    std::map<MemberId, Member> decided_;  // members whose work the commit decides
    MemberId previous_;                   // in the order of `decided`
    Ranges included_;
    Totals totals_;
    std::optional<Error> error_;
};

}  // namespace

std::optional<Error> check(RunSpec const& run, Commit const& parent, Digest const& parent_sha256,
                           Commit const& child)
{
    return Checker(run, parent, child).run(parent_sha256);
}

std::optional<Error> check_genesis(RunSpec const& run, Digest const& run_sha256,
                                   Commit const& first)
{
    if (run.fork) {
        auto const rule = broken_fork_rule(run, run_sha256, first);
        return rule ? std::optional(broken(first, *rule)) : std::nullopt;
    }
    auto const& weights = first.model.weights;
    auto const right = genesis(run, run_sha256, first.by, first.time, weights);
    if (first == right && is_model_name(weights.name, {1}, weights_part)) return std::nullopt;
    return broken(first, first.parent == run_sha256 ? "must be a genesis of this run"
                                                    : "must name the digest of run.json");
}

}  // namespace curtail::protocol
