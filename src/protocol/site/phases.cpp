// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/steps.hpp"

// The table of phases: texts, actions and answer handlers.
namespace curtail::protocol::site {
namespace {

void act_nothing(Parts&) {}

bool stops(Parts& p) { return p.machine.stopping(); }
// A look for requests interrupts another phase.
bool urgent_during_look(Parts& p) { return p.repairs.back == Phase::run ? wants_cut(p) : stops(p); }
// A member looks for lost commits while it trains.
bool urgent_during_mend(Parts& p) { return p.mending.back == Phase::run && wants_cut(p); }

// What several phases wait for.
constexpr char const* run_record = "the run's record (run.json)";
constexpr char const* newest_commit = "the newest commit";
constexpr char const* admission = "the commit that admits this process";
constexpr char const* common_base = "the lone member's commit, as the common base";
constexpr char const* loading = "the trainer to load the model";
constexpr char const* end_of_round = "the end of the round";
constexpr char const* merge_lease = "the merge lease";
constexpr char const* other_merge = "the merge by the lease holder";
constexpr char const* other_work = "contributions of other members";
constexpr char const* next_commit = "the next commit";
constexpr char const* adoption = "the trainer to adopt the newest model";
constexpr char const* repaired_model = "the newest model to be stored again";
constexpr char const* lost_commits = "commits that the store has lost to be created again";
constexpr char const* merge_records = "the records of the newest merge";

constexpr PhaseRow rows[] = {
    {Phase::probe_create, ProtocolState::probe, "the store to create an object", act_probe_create,
     answered_probe},
    {Phase::probe_again, ProtocolState::probe,
     "the store to refuse a second create of the same name", act_probe_again, answered_probe},
    {Phase::run_get, ProtocolState::probe, run_record, act_run_get, answered_run},
    {Phase::run_list, ProtocolState::probe, run_record, act_list, answered_run_list},
    {Phase::run_create, ProtocolState::probe, run_record, act_run_create, answered_run},
    {Phase::find_commit, ProtocolState::find, newest_commit, act_find_commit, answered_find},
    {Phase::find_list, ProtocolState::find, "the list of all commits", act_list,
     answered_find_list},
    {Phase::find_parent, ProtocolState::find, newest_commit, act_find_parent, answered_find_parent},
    {Phase::find_seen, ProtocolState::find, "the newest commit that this site has read",
     act_find_seen, answered_find_seen},
    {Phase::find_sent, ProtocolState::find,
     "the commit under a number that this process tried to create", act_find_sent,
     answered_find_sent},
    {Phase::find_round, ProtocolState::find, newest_commit, act_find_round, answered_find_round},
    {Phase::find_headers, ProtocolState::find,
     "pending contributions of members that may have stopped", act_find_headers, answered_scan},
    {Phase::find_status, ProtocolState::find, "signs of life of the members", act_find_status,
     answered_find_status},
    {Phase::find_amendment, ProtocolState::find, "the next amendment", act_amendment,
     answered_amendment},
    {Phase::genesis_store, ProtocolState::genesis, "the store to take the initial weights",
     act_genesis_store, answered_genesis_store},
    {Phase::genesis_list, ProtocolState::genesis, "the list of all commits", act_list,
     answered_genesis_list},
    {Phase::genesis_create, ProtocolState::genesis, "commit 1 to be created", act_genesis_create,
     answered_genesis_create},
    {Phase::fold, ProtocolState::fold, "nothing", act_fold, nullptr},
    {Phase::join_headers, ProtocolState::join,
     "pending contributions of this site's earlier instances", act_join_headers, answered_scan},
    {Phase::join_check, ProtocolState::join, admission, act_check_tip, answered_check_tip},
    {Phase::join_list, ProtocolState::join, admission, act_check_end, answered_check_end},
    {Phase::join_create, ProtocolState::join, admission, act_join, answered_join},
    {Phase::join_read, ProtocolState::join, admission, act_next_commit, answered_join},
    {Phase::base_wait, ProtocolState::base, common_base, act_base_wait, nullptr},
    {Phase::base_poll, ProtocolState::base, common_base, act_next_commit, answered_base_poll,
     stops},
    {Phase::base_load, ProtocolState::base, loading, act_base_load, answered_base_load},
    {Phase::base_forward, ProtocolState::base, loading, act_next_commit, answered_forward},
    {Phase::run, ProtocolState::run, end_of_round, act_run, nullptr},
    {Phase::run_poll, ProtocolState::run, end_of_round, act_next_commit, answered_run_poll,
     wants_cut},
    {Phase::run_scan, ProtocolState::run,
     "contributions of other members (no blocks left to train)", act_run_scan, answered_run_scan,
     wants_cut},
    {Phase::run_amendment, ProtocolState::run, end_of_round, act_amendment, answered_amendment,
     wants_cut},
    {Phase::run_header, ProtocolState::run, end_of_round, act_run_header, answered_run_header,
     wants_cut},
    {Phase::run_delta, ProtocolState::run, end_of_round, act_run_delta, answered_run_delta,
     wants_cut},
    {Phase::cut, ProtocolState::cut, "the trainer to finish its step", act_nothing, answered_cut},
    {Phase::publish_store, ProtocolState::publish, "the store to take the contribution's payload",
     act_publish_store, answered_publish},
    {Phase::publish_header, ProtocolState::publish, "the store to take the contribution's header",
     act_publish_header, answered_publish},
    {Phase::publish_read, ProtocolState::publish,
     "the header that already has the contribution's name", act_publish_read, answered_publish},
    {Phase::leave_header, ProtocolState::publish, "the store to return the contribution's header",
     act_leave_header, answered_leave_header},
    {Phase::leave_commit, ProtocolState::publish, newest_commit, act_next_commit,
     answered_leave_commit},
    {Phase::lease_create, ProtocolState::lease, merge_lease, act_lease_create,
     answered_lease_create},
    {Phase::lease_read, ProtocolState::lease, merge_lease, act_lease_read, answered_lease_read,
     stops},
    {Phase::wait, ProtocolState::wait, other_merge, act_wait, nullptr},
    {Phase::wait_poll, ProtocolState::wait, other_merge, act_next_commit, answered_merge_poll,
     stops},
    {Phase::gather_headers, ProtocolState::gather, other_work, act_gather_headers, answered_scan,
     stops},
    {Phase::gather_pause, ProtocolState::gather, other_work, act_gather_pause, nullptr},
    {Phase::gather_poll, ProtocolState::gather, other_work, act_next_commit, answered_merge_poll,
     stops},
    {Phase::gather_own, ProtocolState::gather, "the store to return this site's own header",
     act_gather_own, answered_gather_own, stops},
    {Phase::gather_delta, ProtocolState::gather, "the store to return this site's own delta",
     act_gather_delta, answered_gather_delta, stops},
    {Phase::merge, ProtocolState::merge, "the merge of the contributions", act_merge,
     answered_merge},
    {Phase::lone_store, ProtocolState::lone, "the store to take this site's weights",
     act_lone_store, answered_lone_store},
    {Phase::commit_check, ProtocolState::commit, next_commit, act_check_tip, answered_check_tip},
    {Phase::commit_list, ProtocolState::commit, next_commit, act_check_end, answered_check_end},
    {Phase::commit_create, ProtocolState::commit, next_commit, act_commit_create,
     answered_commit_create},
    {Phase::commit_read, ProtocolState::commit, next_commit, act_next_commit, answered_commit_read},
    {Phase::garbage, ProtocolState::commit, "records of rounds whose payloads have expired",
     act_garbage, answered_garbage},
    {Phase::adopt_forward, ProtocolState::adopt, adoption, act_next_commit, answered_forward},
    {Phase::adopt_headers, ProtocolState::adopt, adoption, act_adopt_headers,
     answered_adopt_headers, stops},
    {Phase::adopt_apply, ProtocolState::adopt, adoption, act_adopt_apply, answered_adopt},
    {Phase::mend_list, ProtocolState::repair, lost_commits, act_mend_list, answered_mend_list,
     urgent_during_mend},
    {Phase::mend_successor, ProtocolState::repair, lost_commits, act_mend_successor,
     answered_mend_successor, urgent_during_mend},
    {Phase::mend_copy, ProtocolState::repair, lost_commits, act_mend_copy, answered_mend_copy},
    {Phase::mend_below, ProtocolState::repair, lost_commits, act_mend_below, answered_mend_below,
     urgent_during_mend},
    {Phase::mend_create, ProtocolState::repair, lost_commits, act_mend_create,
     answered_mend_create},
    {Phase::mend_read, ProtocolState::repair, lost_commits, act_mend_read, answered_mend_read,
     urgent_during_mend},
    {Phase::repair_forward, ProtocolState::repair, repaired_model, act_next_commit,
     answered_repair_forward},
    {Phase::repair_restore, ProtocolState::repair, "the store to take a copy of the newest model",
     act_repair_restore, answered_repair_restore},
    {Phase::repair_request, ProtocolState::repair, repaired_model, act_repair_request,
     answered_repair_request},
    {Phase::repair_made, ProtocolState::repair, merge_records, act_repair_made,
     answered_repair_made},
    {Phase::repair_parent, ProtocolState::repair, merge_records, act_repair_parent,
     answered_repair_parent},
    {Phase::repair_header, ProtocolState::repair, merge_records, act_repair_header,
     answered_repair_header},
    {Phase::repair_merge, ProtocolState::repair, "the newest merge to be computed once more",
     act_repair_merge, answered_repair_restore},
    {Phase::repair_look, ProtocolState::run, end_of_round, act_repair_look, answered_repair_look,
     urgent_during_look},
    {Phase::exited, ProtocolState::exited, "nothing", act_nothing, nullptr},
};

static_assert([] {
    for (std::size_t i = 0; i < std::size(rows); ++i)
        if (rows[i].phase != static_cast<Phase>(i)) return false;
    return std::size(rows) == static_cast<std::size_t>(Phase::exited) + 1;
}());

// The row that people see: a look for requests is only a short break.
PhaseRow const& shown_row(Parts const& p)
{
    bool const looks = p.machine.phase() == Phase::repair_look;
    return looks ? rows[static_cast<std::size_t>(p.repairs.back)] : row(p);
}

// A fold makes a merge commit, but shows as `fold`.
ProtocolState state(Parts const& p)
{
    auto const state = shown_row(p).state;
    bool const commits = state == ProtocolState::merge || state == ProtocolState::commit;
    return commits && p.proposal.mode() == Mode::fold ? ProtocolState::fold : state;
}

char const* waiting_for(Parts const& p, bool is_member)
{
    auto const phase = p.machine.phase();
    if (shown_row(p).state == ProtocolState::run && !is_member) return newest_commit;
    bool const trains = phase == Phase::run || phase == Phase::run_poll ||
                        phase == Phase::run_amendment || phase == Phase::run_header ||
                        phase == Phase::run_delta;
    return trains && trainable(p).empty() ? "blocks to train" : shown_row(p).waiting_for;
}

}  // namespace

PhaseRow const& row(Parts const& p) { return rows[static_cast<std::size_t>(p.machine.phase())]; }

Status status(Parts const& p)
{
    auto const* me = p.chain.tip() && p.member ? p.chain.tip()->find(*p.member) : nullptr;
    Status s;
    s.state = state(p);
    s.waiting_for = waiting_for(p, me != nullptr);
    s.member = p.member;
    s.base = p.training.base();
    s.since = p.training.since();
    s.skipped = p.training.skipped();
    s.leaving = p.contributions.leaving();
    for (auto const& own : p.contributions.undecided())
        s.undecided.push_back(own.header.ranges + own.header.skipped);
    if (auto const& tip = p.chain.tip()) {
        s.tip = tip->number;
        s.round = tip->round;
        s.members.reserve(tip->members.size());
        for (auto const& m : tip->members) s.members.push_back(m.id);
    }
    if (me != nullptr) s.held = me->held;
    return s;
}

}  // namespace curtail::protocol::site
