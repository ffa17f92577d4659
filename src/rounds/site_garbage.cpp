#include "rounds/site.hpp"

/// What a merge makes too old to be kept, and what earlier writers left behind.
namespace curtail::rounds {

/// After its merge commit, before anything else, so that a site that leaves does it too. The first time a process also looks at rounds
/// before the one whose turn it is: their writers may have been killed.
void Site::begin_garbage()
{
    constexpr int rounds_back = 8;
    garbage_.reset();
    auto const oldest_kept = tip_->round.value - run_.params.keep_models + 1;
    for (auto const& merge : tip_->recent)
        if (merge.round.value == oldest_kept && oldest_kept > 1) garbage_ = Garbage{merge.number, {}, collected_ ? 1 : rounds_back};
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
    auto commit = got != nullptr ? decode_commit(got->bytes, commit_name(garbage_->next)) : Result<Commit>{};
    bool more = got != nullptr && commit;
    if (more) {
        if (garbage_->newer) {
            delete_garbage(*commit, *garbage_->newer);
            --garbage_->rounds;
        }
        auto const& recent = commit->recent;
        more = garbage_->rounds > 0 && recent.size() >= 2;
        if (more) garbage_->next = recent[recent.size() - 2].number;
        garbage_->newer = std::move(*commit);
    }
    if (more) return go(Phase::garbage);
    garbage_.reset();
    go_on_from_commit();
}

/// The model of a round, momentum that the one after it does not name any more, and deltas decided in it.
void Site::delete_garbage(Commit const& old, Commit const& newer)
{
    auto const every = run_.params.milestone_every;
    bool const milestone = every > 0 && old.round.value % every == 0;
    if (!milestone)
        for (auto const& part : old.model.parts) out_.emplace_back(Delete{part.name});
    if (old.outer && newer.outer != old.outer)
        for (auto const& part : old.outer->parts) out_.emplace_back(Delete{part.name});
    for (auto const& d : old.decided) {
        if (d.inlined || d.ranges.empty() || d.refused == Refusal::nan) continue;
        Round const base{old.round.value - 1 - d.staleness};
        for (auto const& part : run_.parts) out_.emplace_back(Delete{delta_name(base, d.member, d.seq, delta_part(part.name))});
    }
}

}  // namespace curtail::rounds
