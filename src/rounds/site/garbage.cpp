// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/site/steps.hpp"

/// Deletion of payloads that a merge makes too old, and of those that earlier writers left.
namespace curtail::rounds::site {
namespace {

/// Newest commit before `commit` that made a model.
CommitNumber model_before(Commit const& commit)
{
    for (auto it = commit.recent.rbegin(); it != commit.recent.rend(); ++it)
        if (it->number < commit.number) return it->number;
    return {commit.number.value - 1};
}

}  // namespace

/// Runs directly after an own merge commit, so that leaving sites do it too. The first walk of a
/// process also covers older rounds, whose writers may have been killed.
void begin_garbage(Parts& p)
{
    constexpr int rounds_back = 8;
    constexpr int reads = 100;  // many roster commits in one round must not delay training for long
    p.garbage.reset();
    auto const oldest_kept = p.tip->round.value - p.run.params.keep_models + 1;
    for (auto const& merge : p.tip->recent)
        if (merge.round.value == oldest_kept && oldest_kept > 1)
            p.garbage = Garbage{merge.number, {}, p.collected ? 1 : rounds_back, reads};
    p.collected = p.collected || p.garbage;
}

bool act_garbage(Parts& p)
{
    p.machine.get(commit_name(p.garbage->next));
    return true;
}

void answered_garbage(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    auto commit =
        got != nullptr ? decode_commit(got->bytes, commit_name(p.garbage->next)) : Result<Commit>{};
    bool more = got != nullptr && commit;
    if (more) {
        if (p.garbage->newer) {
            delete_garbage(p, *commit, *p.garbage->newer);
            if (commit->kind != Commit::Kind::roster) --p.garbage->rounds;
        }
        --p.garbage->reads;
        more = p.garbage->rounds > 0 && commit->number.value > 1 && p.garbage->reads >= 0;
        // The last read jumps over roster commits to the next model, the largest payload.
        p.garbage->next =
            p.garbage->reads > 0 ? CommitNumber{commit->number.value - 1} : model_before(*commit);
        p.garbage->newer = std::move(*commit);
    }
    if (more) return p.machine.go(Phase::garbage);
    p.garbage.reset();
    after_commit(p);
}

/// Deletes the model that `old` made, momentum that `newer` no longer names, deltas that `old`
/// decided, and deltas of members that `newer` removed.
void delete_garbage(Parts& p, Commit const& old, Commit const& newer)
{
    bool const merge = old.kind == Commit::Kind::merge;
    auto const every = p.run.params.milestone_every;
    bool const milestone = every > 0 && old.round.value % every == 0;
    if (old.kind != Commit::Kind::roster && !milestone)
        for (auto const& part : old.model.parts) p.machine.send(Delete{part.name});
    if (old.outer && newer.outer != old.outer)
        for (auto const& part : old.outer->parts) p.machine.send(Delete{part.name});
    Round const before{old.round.value - (merge ? 1 : 0)};
    for (auto const& d : old.decided) {
        if (!d.ranges.empty()) delete_delta(p, d.member, d.seq, {before.value - d.staleness});
        else if (d.refused) delete_deltas(p, d.member, d.seq, d.seq, {1}, before);
    }
    for (auto const& r : newer.removed) {
        auto const* m = old.find(r.member);
        if (m == nullptr || r.reason == Removal::left || r.reason == Removal::complete) continue;
        delete_deltas(p, m->id, m->seq.next(), {m->seq.value + p.run.params.max_undecided + 1},
                      m->since_round, old.round);
    }
}

/// Deltas with an unreadable header or none: deletes them under every possible base.
void delete_deltas(Parts& p, MemberId const& member, Seq first, Seq last, Round since, Round newest)
{
    auto const oldest =
        std::max(since.value, newest.value - p.run.params.max_staleness - p.run.params.max_missed);
    for (Round base{oldest}; base <= newest; base = base.next())
        for (Seq seq = first; seq <= last; seq = seq.next()) delete_delta(p, member, seq, base);
}

void delete_delta(Parts& p, MemberId const& member, Seq seq, Round base)
{
    for (auto const& part : p.run.parts)
        p.machine.send(Delete{delta_name(base, member, seq, delta_part(part.name))});
}

}  // namespace curtail::rounds::site
