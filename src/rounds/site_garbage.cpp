// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/site.hpp"

/// Deletion of payloads that a merge makes too old, and of those that earlier writers left.
namespace curtail::rounds {
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
void Site::begin_garbage()
{
    constexpr int rounds_back = 8;
    constexpr int reads = 100;  // many roster commits in one round must not delay training for long
    garbage_.reset();
    auto const oldest_kept = tip_->round.value - run_.params.keep_models + 1;
    for (auto const& merge : tip_->recent)
        if (merge.round.value == oldest_kept && oldest_kept > 1)
            garbage_ = Garbage{merge.number, {}, collected_ ? 1 : rounds_back, reads};
    collected_ = collected_ || garbage_;
}

bool Site::act_garbage()
{
    get(commit_name(garbage_->next));
    return true;
}

void Site::answered_garbage(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    auto commit =
        got != nullptr ? decode_commit(got->bytes, commit_name(garbage_->next)) : Result<Commit>{};
    bool more = got != nullptr && commit;
    if (more) {
        if (garbage_->newer) {
            delete_garbage(*commit, *garbage_->newer);
            if (commit->kind != Commit::Kind::roster) --garbage_->rounds;
        }
        --garbage_->reads;
        more = garbage_->rounds > 0 && commit->number.value > 1 && garbage_->reads >= 0;
        // The last read jumps over roster commits to the next model, the largest payload.
        garbage_->next =
            garbage_->reads > 0 ? CommitNumber{commit->number.value - 1} : model_before(*commit);
        garbage_->newer = std::move(*commit);
    }
    if (more) return go(Phase::garbage);
    garbage_.reset();
    after_commit();
}

/// Deletes the model that `old` made, momentum that `newer` no longer names, deltas that `old`
/// decided, and deltas of members that `newer` removed.
void Site::delete_garbage(Commit const& old, Commit const& newer)
{
    bool const merge = old.kind == Commit::Kind::merge;
    auto const every = run_.params.milestone_every;
    bool const milestone = every > 0 && old.round.value % every == 0;
    if (old.kind != Commit::Kind::roster && !milestone)
        for (auto const& part : old.model.parts) out_.emplace_back(Delete{part.name});
    if (old.outer && newer.outer != old.outer)
        for (auto const& part : old.outer->parts) out_.emplace_back(Delete{part.name});
    Round const before{old.round.value - (merge ? 1 : 0)};
    for (auto const& d : old.decided) {
        if (!d.ranges.empty()) delete_delta(d.member, d.seq, {before.value - d.staleness});
        else if (d.refused) delete_deltas(d.member, d.seq, d.seq, {1}, before);
    }
    for (auto const& r : newer.removed) {
        auto const* m = old.find(r.member);
        if (m == nullptr || r.reason == Removal::left || r.reason == Removal::complete) continue;
        delete_deltas(m->id, m->seq.next(), {m->seq.value + run_.params.max_undecided + 1},
                      m->since_round, old.round);
    }
}

/// Deltas with an unreadable header or none: deletes them under every possible base.
void Site::delete_deltas(MemberId const& member, Seq first, Seq last, Round since, Round newest)
{
    auto const oldest =
        std::max(since.value, newest.value - run_.params.max_staleness - run_.params.max_missed);
    for (Round base{oldest}; base <= newest; base = base.next())
        for (Seq seq = first; seq <= last; seq = seq.next()) delete_delta(member, seq, base);
}

void Site::delete_delta(MemberId const& member, Seq seq, Round base)
{
    for (auto const& part : run_.parts)
        out_.emplace_back(Delete{delta_name(base, member, seq, delta_part(part.name))});
}

}  // namespace curtail::rounds
