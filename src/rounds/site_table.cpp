// SPDX-License-Identifier: Apache-2.0
#include "rounds/site.hpp"

/// What each phase is called, does and waits for.
namespace curtail::rounds {

// clang-format off
constexpr Site::Row Site::rows[] = {
    {Phase::probe_create,   State::probe,   "the store to create an object",                          &Site::act_probe_create,   &Site::answered_probe},
    {Phase::probe_again,    State::probe,   "the store to refuse a second create of the same name",   &Site::act_probe_again,    &Site::answered_probe},
    {Phase::run_get,        State::probe,   "the run's record",                                       &Site::act_run_get,        &Site::answered_run},
    {Phase::run_create,     State::probe,   "the run's record",                                       &Site::act_run_create,     &Site::answered_run},
    {Phase::find_commit,    State::find,    "the newest commit",                                      &Site::act_find_commit,    &Site::answered_find},
    {Phase::find_parent,    State::find,    "the newest commit",                                      &Site::act_find_parent,    &Site::answered_find_parent},
    {Phase::find_sent,      State::find,    "who made a commit that this process tried to make",      &Site::act_find_sent,      &Site::answered_find_sent},
    {Phase::find_round,     State::find,    "the newest commit",                                      &Site::act_find_round,     &Site::answered_find_round},
    {Phase::find_headers,   State::find,    "pending contributions of members that may be gone",      &Site::act_find_headers,   &Site::answered_sweep},
    {Phase::genesis_store,  State::genesis, "the initial weights to be stored",                       &Site::act_genesis_store,  &Site::answered_genesis_store},
    {Phase::genesis_create, State::genesis, "commit 1",                                               &Site::act_genesis_create, &Site::answered_genesis_create},
    {Phase::fold,           State::fold,    "nothing",                                                &Site::act_fold,           nullptr},
    {Phase::join_headers,   State::join,    "a contribution that this site's earlier life may have left", &Site::act_join_headers, &Site::answered_sweep},
    {Phase::join_create,    State::join,    "the commit that admits this process",                    &Site::act_join,           &Site::answered_join},
    {Phase::join_read,      State::join,    "the commit that admits this process",                    &Site::act_next_commit,    &Site::answered_join},
    {Phase::base_wait,      State::base,    "the commit of the member that trained alone, for a common base", &Site::act_base_wait, nullptr},
    {Phase::base_poll,      State::base,    "the commit of the member that trained alone, for a common base", &Site::act_next_commit, &Site::answered_base_poll},
    {Phase::base_load,      State::base,    "the model to be loaded",                                 &Site::act_base_load,      &Site::answered_base_load},
    {Phase::base_forward,   State::base,    "the model to be loaded",                                 &Site::act_next_commit,    &Site::answered_base_forward},
    {Phase::run,            State::run,     "the end of the round",                                   &Site::act_run,            nullptr},
    {Phase::run_poll,       State::run,     "the end of the round",                                   &Site::act_next_commit,    &Site::answered_run_poll},
    {Phase::run_look,       State::run,     "contributions of the others, as nothing is left to train", &Site::act_run_look,     &Site::answered_sweep},
    {Phase::cut,            State::cut,     "the trainer to finish its step",                         &Site::act_nothing,        &Site::answered_cut},
    {Phase::publish_store,  State::publish, "the contribution's payload to be stored",                &Site::act_publish_store,  &Site::answered_publish},
    {Phase::publish_header, State::publish, "the contribution's header to be stored",                 &Site::act_publish_header, &Site::answered_publish},
    {Phase::publish_read,   State::publish, "what stands under the contribution's name",              &Site::act_publish_read,   &Site::answered_publish},
    {Phase::lease_create,   State::lease,   "the lease to merge",                                     &Site::act_lease_create,   &Site::answered_lease_create},
    {Phase::lease_read,     State::lease,   "the lease to merge",                                     &Site::act_lease_read,     &Site::answered_lease_read},
    {Phase::wait,           State::wait,    "the holder of the lease to merge",                       &Site::act_wait,           nullptr},
    {Phase::wait_poll,      State::wait,    "the holder of the lease to merge",                       &Site::act_next_commit,    &Site::answered_wait_poll},
    {Phase::gather_headers, State::gather,  "contributions of the others",                            &Site::act_gather_headers, &Site::answered_sweep},
    {Phase::gather_pause,   State::gather,  "contributions of the others",                            &Site::act_gather_pause,   nullptr},
    {Phase::gather_poll,    State::gather,  "contributions of the others",                            &Site::act_next_commit,    &Site::answered_gather_poll},
    {Phase::merge,          State::merge,   "the merge of the contributions",                         &Site::act_merge,          &Site::answered_merge},
    {Phase::lone_store,     State::lone,    "own weights to be stored",                               &Site::act_lone_store,     &Site::answered_lone_store},
    {Phase::commit_create,  State::commit,  "the next commit",                                        &Site::act_commit_create,  &Site::answered_commit_create},
    {Phase::commit_read,    State::commit,  "the next commit",                                        &Site::act_next_commit,    &Site::answered_commit_read},
    {Phase::garbage,        State::commit,  "records of rounds whose payloads are too old to be kept", &Site::act_garbage,       &Site::answered_garbage},
    {Phase::adopt_forward,  State::adopt,   "the newest model to be taken over",                      &Site::act_next_commit,    &Site::answered_adopt_forward},
    {Phase::adopt_apply,    State::adopt,   "the newest model to be taken over",                      &Site::act_adopt_apply,    &Site::answered_adopt},
    {Phase::exited,         State::exited,  "nothing",                                                &Site::act_nothing,        nullptr},
};
// clang-format on

char const* to_text(State state)
{
    static constexpr char const* words[] = {"probe", "find", "genesis", "fold",  "join",  "base",
                                            "run",   "cut",  "publish", "lease", "wait",  "gather",
                                            "merge", "lone", "commit",  "adopt", "exited"};
    return words[static_cast<int>(state)];
}

Status Site::status() const
{
    static_assert([] {
        for (std::size_t i = 0; i < std::size(rows); ++i)
            if (rows[i].phase != static_cast<Phase>(i)) return false;
        return std::size(rows) == static_cast<std::size_t>(Phase::exited) + 1;
    }());
    Status s;
    bool const known = tip_ && member_ && tip_->find(*member_) != nullptr;
    s.state = row().state;
    s.waiting_for = row().waiting_for;
    if (s.state == State::run && !known) s.waiting_for = "the newest commit";
    else if ((phase_ == Phase::run || phase_ == Phase::run_poll) && trainable().empty())
        s.waiting_for = "blocks to train";
    if (mode_ == Mode::fold && (s.state == State::merge || s.state == State::commit))
        s.state = State::fold;
    s.member = member_;
    s.base = base_;
    s.since = since_;
    s.leaving = leaving_;
    for (auto const& own : undecided_) s.undecided.push_back(own.header.ranges);
    if (!tip_) return s;
    s.tip = tip_->number;
    s.round = tip_->round;
    for (auto const& m : tip_->members) s.members.push_back(m.id);
    if (known) s.held = tip_->find(*member_)->held;
    return s;
}

}  // namespace curtail::rounds
