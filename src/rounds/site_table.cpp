// SPDX-License-Identifier: Apache-2.0
#include "rounds/site.hpp"

/// The table of phases: texts, actions and answer handlers.
namespace curtail::rounds {

// clang-format off
constexpr Site::Row Site::rows[] = {
    {Phase::probe_create,   State::probe,   "the store to create an object",                          &Site::act_probe_create,   &Site::answered_probe},
    {Phase::probe_again,    State::probe,   "the store to refuse a second create of the same name",   &Site::act_probe_again,    &Site::answered_probe},
    {Phase::run_get,        State::probe,   "the run's record (run.json)",                                       &Site::act_run_get,        &Site::answered_run},
    {Phase::run_create,     State::probe,   "the run's record (run.json)",                                       &Site::act_run_create,     &Site::answered_run},
    {Phase::find_commit,    State::find,    "the newest commit",                                      &Site::act_find_commit,    &Site::answered_find},
    {Phase::find_parent,    State::find,    "the newest commit",                                      &Site::act_find_parent,    &Site::answered_find_parent},
    {Phase::find_sent,      State::find,    "the commit under a number that this process tried to create",      &Site::act_find_sent,      &Site::answered_find_sent},
    {Phase::find_round,     State::find,    "the newest commit",                                      &Site::act_find_round,     &Site::answered_find_round},
    {Phase::find_headers,   State::find,    "pending contributions of members that may have stopped",      &Site::act_find_headers,   &Site::answered_scan},
    {Phase::genesis_store,  State::genesis, "the store to take the initial weights",                       &Site::act_genesis_store,  &Site::answered_genesis_store},
    {Phase::genesis_create, State::genesis, "commit 1 to be created",                                               &Site::act_genesis_create, &Site::answered_genesis_create},
    {Phase::fold,           State::fold,    "nothing",                                                &Site::act_fold,           nullptr},
    {Phase::join_headers,   State::join,    "pending contributions of this site's earlier instances", &Site::act_join_headers, &Site::answered_scan},
    {Phase::join_create,    State::join,    "the commit that admits this process",                    &Site::act_join,           &Site::answered_join},
    {Phase::join_read,      State::join,    "the commit that admits this process",                    &Site::act_next_commit,    &Site::answered_join},
    {Phase::base_wait,      State::base,    "the lone member's commit, as the common base", &Site::act_base_wait, nullptr},
    {Phase::base_poll,      State::base,    "the lone member's commit, as the common base", &Site::act_next_commit, &Site::answered_base_poll},
    {Phase::base_load,      State::base,    "the trainer to load the model",                                 &Site::act_base_load,      &Site::answered_base_load},
    {Phase::base_forward,   State::base,    "the trainer to load the model",                                 &Site::act_next_commit,    &Site::answered_base_forward},
    {Phase::run,            State::run,     "the end of the round",                                   &Site::act_run,            nullptr},
    {Phase::run_poll,       State::run,     "the end of the round",                                   &Site::act_next_commit,    &Site::answered_run_poll},
    {Phase::run_scan,       State::run,     "contributions of other members (no blocks left to train)", &Site::act_run_scan,     &Site::answered_scan},
    {Phase::cut,            State::cut,     "the trainer to finish its step",                         &Site::act_nothing,        &Site::answered_cut},
    {Phase::publish_store,  State::publish, "the store to take the contribution's payload",                &Site::act_publish_store,  &Site::answered_publish},
    {Phase::publish_header, State::publish, "the store to take the contribution's header",                 &Site::act_publish_header, &Site::answered_publish},
    {Phase::publish_read,   State::publish, "the header that already has the contribution's name",              &Site::act_publish_read,   &Site::answered_publish},
    {Phase::lease_create,   State::lease,   "the merge lease",                                     &Site::act_lease_create,   &Site::answered_lease_create},
    {Phase::lease_read,     State::lease,   "the merge lease",                                     &Site::act_lease_read,     &Site::answered_lease_read},
    {Phase::wait,           State::wait,    "the merge by the lease holder",                       &Site::act_wait,           nullptr},
    {Phase::wait_poll,      State::wait,    "the merge by the lease holder",                       &Site::act_next_commit,    &Site::answered_wait_poll},
    {Phase::gather_headers, State::gather,  "contributions of other members",                            &Site::act_gather_headers, &Site::answered_scan},
    {Phase::gather_pause,   State::gather,  "contributions of other members",                            &Site::act_gather_pause,   nullptr},
    {Phase::gather_poll,    State::gather,  "contributions of other members",                            &Site::act_next_commit,    &Site::answered_gather_poll},
    {Phase::merge,          State::merge,   "the merge of the contributions",                         &Site::act_merge,          &Site::answered_merge},
    {Phase::lone_store,     State::lone,    "the store to take this site's weights",                               &Site::act_lone_store,     &Site::answered_lone_store},
    {Phase::commit_create,  State::commit,  "the next commit",                                        &Site::act_commit_create,  &Site::answered_commit_create},
    {Phase::commit_read,    State::commit,  "the next commit",                                        &Site::act_next_commit,    &Site::answered_commit_read},
    {Phase::garbage,        State::commit,  "records of rounds whose payloads have expired", &Site::act_garbage,       &Site::answered_garbage},
    {Phase::adopt_forward,  State::adopt,   "the trainer to adopt the newest model",                      &Site::act_next_commit,    &Site::answered_adopt_forward},
    {Phase::adopt_apply,    State::adopt,   "the trainer to adopt the newest model",                      &Site::act_adopt_apply,    &Site::answered_adopt},
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
