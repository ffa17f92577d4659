// SPDX-License-Identifier: Apache-2.0
#include "rounds/check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rounds/names.hpp"
#include "rounds/next.hpp"

namespace curtail::rounds {
namespace {

Error broken(Commit const& c, std::string rule)
{
    return {ExitCode::protocol, "refused commit " + std::to_string(c.number.value), std::move(rule),
            "the record was edited, damaged or written by another version; `curtail-status "
            "--verify` shows the last good commit"};
}

/// The rules one by one; the first that is broken is kept.
class Checker {
  public:
    Checker(RunSpec const& run, Commit const& parent, Commit const& child)
        : run_(run), parent_(parent), child_(child)
    {
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
        return error_;
    }

  private:
    void require(bool good, std::string const& rule)
    {
        if (!good && !error_) error_ = broken(child_, rule);
    }

    void chain(Digest const& parent_sha256)
    {
        require(child_.run == run_.run, "must be of run " + run_.run.value);
        require(child_.number == parent_.number.next(), "must follow its parent's number");
        require(child_.parent == parent_sha256,
                "must name the digest of commit " + std::to_string(parent_.number.value));
        require(!parent_.complete, "must not follow a complete run");
        require(child_.kind != Commit::Kind::genesis, "only commit 1 is a genesis");
    }

    /// Each contribution in order, inside what its member holds (I3).
    void decisions()
    {
        for (auto const& m : parent_.members) held_[m.id] = m.held;
        std::map<MemberId, Seq> last;
        MemberId before;
        for (auto const& d : child_.decided) {
            auto const name = d.member.value + "." + std::to_string(d.seq.value);
            auto const* member = parent_.find(d.member);
            require(member != nullptr, "contribution " + name + " must be of a member");
            if (member == nullptr) return;
            require(before <= d.member, "decided must be sorted");
            before = d.member;
            auto const previous = last.contains(d.member) ? last[d.member] : member->seq;
            require(d.seq == previous.next(),
                    "contribution " + name + " must follow the last decided one of its member");
            last[d.member] = d.seq;
            if (!d.refused) include(d, name);
            held_[d.member] -= d.ranges;
        }
        last_ = std::move(last);
        auto scaled = child_.decided;
        set_scales(run_, scaled);
        if (child_.kind == Commit::Kind::roster)
            for (auto& d : scaled) d.scale = 0;
        require(scaled == child_.decided, "scales must follow from tokens and staleness");
    }

    void include(Decided const& d, std::string const& name)
    {
        require(held_[d.member].contains(d.ranges),
                "contribution " + name + " must lie inside what its member holds");
        require(d.staleness <= run_.params.max_staleness,
                "contribution " + name + " must not be staler than max_staleness");
        require(counts_tokens(run_, d.ranges, d.tokens),
                "contribution " + name + " must count its blocks' tokens");
        require(!included_.overlaps(d.ranges), "included ranges must be disjoint");
        included_ += d.ranges;
        totals_.tokens += d.tokens;
        totals_.steps += d.steps;
        if (d.ranges.empty()) return;
        norms_.push_back(d.norm);
    }

    /// A merge makes the next round's model; a roster commit repeats its parent's (I1).
    void model()
    {
        bool const merge = child_.kind == Commit::Kind::merge;
        require(merge == !included_.empty(), "must be a merge exactly if it includes work");
        require(child_.round.value == parent_.round.value + (merge ? 1 : 0),
                "round must rise by one with a merge and only then");
        auto recent = parent_.recent;
        auto norms = parent_.norms;
        if (merge) {
            recent.push_back({child_.round, child_.number});
            auto const keep = static_cast<std::size_t>(run_.params.keep_models) + 1;
            if (recent.size() > keep)
                recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(keep));
            norms.insert(norms.end(), norms_.begin(), norms_.end());
            if (norms.size() > norms_kept)
                norms.erase(norms.begin(), norms.end() - static_cast<std::ptrdiff_t>(norms_kept));
        }
        require(child_.recent == recent, "recent must name the last merges");
        require(child_.norms == norms, "norms must be those of the last included contributions");
        require(child_.outer_step == (merge && makes_outer_step(run_, parent_, child_.decided)),
                "outer_step must follow from what is included");
        if (!merge) require(child_.model == parent_.model, "a roster commit must repeat the model");
        if (!child_.outer_step)
            require(child_.outer == parent_.outer, "outer must change with an outer step only");
        if (merge) parts(child_.model.parts, weights_part);
        if (merge) require(child_.model.round == child_.round, "model must be that of the round");
        if (child_.outer_step)
            require(child_.outer.has_value(), "an outer step must leave momentum");
        if (child_.outer_step && child_.outer) parts(child_.outer->parts, momentum_part);
    }

    void parts(std::vector<PartRef> const& list, std::string (*part_name)(std::string_view))
    {
        require(list.size() == run_.parts.size(), "must name each part of the model");
        for (std::size_t i = 0; i < list.size() && i < run_.parts.size(); ++i) {
            auto const part = part_name(run_.parts[i].name);
            require(list[i].part == part && is_model_name(list[i].name, child_.round, part),
                    "part " + part + " must be named by the rule");
        }
    }

    /// What is done only grows, by what was included (I2).
    void ledger()
    {
        require(!parent_.done.overlaps(included_), "included blocks must not be done already");
        require(child_.done == parent_.done + included_, "done must grow by the included ranges");
        require(Ranges::between(0, run_.stream_blocks()).contains(child_.done),
                "done must lie inside the stream");
        totals_.tokens += parent_.totals.tokens;
        totals_.steps += parent_.totals.steps;
        require(child_.totals == totals_, "totals must be the sum of contributions");
    }

    /// Every member enters once and leaves once, with a reason (I3).
    void table()
    {
        std::set<MemberId> removed;
        MemberId before;
        for (auto const& r : child_.removed) {
            require(before < r.member, "removed must be sorted");
            before = r.member;
            removed.insert(r.member);
            bool const known = parent_.find(r.member) != nullptr ||
                               (r.reason == Removal::complete && admitted_here(r.member));
            require(known, "only a member can be removed");
            if (r.reason == Removal::left)
                require(last_.contains(r.member), "who leaves must leave by a contribution");
            if (r.reason == Removal::silent || r.reason == Removal::succeeded)
                require(!last_.contains(r.member),
                        "a member whose contribution was found must not be removed");
        }
        for (auto const& m : parent_.members)
            require((child_.find(m.id) != nullptr) != removed.contains(m.id),
                    "member " + m.id.value + " must stay or be removed");
        before = {};
        std::set<Process> processes;
        for (auto const& m : child_.members) {
            require(before < m.id, "members must be sorted and each there once");
            before = m.id;
            require(processes.insert(member_parts(m.id).process).second,
                    "a process must be a member once");
            if (auto const* old = parent_.find(m.id)) stays(*old, m);
            else enters(m);
        }
    }

    [[nodiscard]] bool admitted_here(MemberId const& id) const
    {
        return member_parts(id).admitted == child_.number;
    }

    void stays(Member const& old, Member const& now)
    {
        auto const name = "member " + now.id.value;
        bool const decided = last_.contains(now.id);
        bool const misses = child_.kind == Commit::Kind::merge && old.since_round < parent_.round;
        require(now.site == old.site && now.since_round == old.since_round,
                name + " must keep its site and its beginning");
        require(now.seq == (decided ? last_[now.id] : old.seq),
                name + " must carry its last decided contribution");
        require(now.missed == (decided ? 0 : old.missed + (misses ? 1 : 0)),
                name + " must count merges without it");
        require(now.seen == (decided ? child_.time : old.seen),
                name + " must be seen when it was decided");
        require(decided || now.rate == old.rate || child_.by.member == now.id,
                name + " must set its rate itself");
    }

    void enters(Member const& m)
    {
        auto const name = "member " + m.id.value;
        require(admitted_here(m.id), name + " must have the number of the commit that admits it");
        require(m.site == member_parts(m.id).process.site, name + " must be of the site in its id");
        require(m.seq == Seq{} && m.missed == 0 && m.since_round == child_.round &&
                    m.seen == child_.time,
                name + " must enter fresh");
    }

    /// Nothing is taken from who stays; free blocks go out by the rule; nothing twice (I2).
    void holdings()
    {
        auto all = child_.done;
        for (auto const& m : child_.members) {
            require(!all.overlaps(m.held), "blocks must be done, held by one member, or free");
            all += m.held;
        }
        if (child_.complete) return;
        auto members = child_.members;
        for (auto& m : members) m.held = held_.contains(m.id) ? held_[m.id] : Ranges{};
        grant(run_, child_.done, members);
        require(members == child_.members, "blocks must be granted by the rule");
    }

    void ending()
    {
        bool const whole = child_.done == Ranges::between(0, run_.stream_blocks());
        require(child_.complete == whole, "must be complete exactly if all blocks are done");
        if (child_.complete) require(child_.members.empty(), "a complete run must have no members");
    }

    RunSpec const& run_;
    Commit const& parent_;
    Commit const& child_;
    std::map<MemberId, Ranges> held_;  ///< before grants
    std::map<MemberId, Seq> last_;     ///< decided here
    Ranges included_;
    Totals totals_;
    std::vector<double> norms_;
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
    auto right = genesis(run, run_sha256, first.by, first.time, first.model.parts);
    bool good = first == right && first.model.parts.size() == run.parts.size();
    for (std::size_t i = 0; good && i < run.parts.size(); ++i) {
        auto const part = weights_part(run.parts[i].name);
        good = first.model.parts[i].part == part &&
               is_model_name(first.model.parts[i].name, {1}, part);
    }
    if (good) return std::nullopt;
    return broken(first, first.parent == run_sha256 ? "must be a genesis of this run"
                                                    : "must name the digest of run.json");
}

}  // namespace curtail::rounds
