// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "protocol/site/limits.hpp"
#include "protocol/site/parts.hpp"

// The functions that carry out the phases of a Site. `act_...` takes the next action of a phase. It
// does nothing if the site can only wait. `answered_...` handles the answer to the question that
// the phase asked. docs/rounds.md describes the states.
namespace curtail::protocol::site {

/// A row of the table in phases.cpp: one phase, its action and its handler of answers.
struct PhaseRow {
    Phase phase;
    ProtocolState state;
    char const* waiting_for;  ///< what the site waits for, as a noun phrase
    void (*act)(Parts&);
    void (*answered)(Parts&, Input const&);  ///< null if the phase asks no question
    /// Returns true if something is more urgent than an answer to the phase's read. The read is
    /// then abandoned after `patience`, and counts as Unknown. Null: the phase waits for the
    /// answer.
    bool (*urgent)(Parts&){nullptr};
};
/// Returns the row of the current phase.
[[nodiscard]] PhaseRow const& row(Parts const& p);

// ---- loop.cpp: the main loop, and functions for all phases

/// Implements Site::on.
[[nodiscard]] std::vector<Output> on(Parts& p, MonoTime now, Input const& input);
/// Implements Site::rate.
[[nodiscard]] Rate rate(Parts const& p);
/// Writes this member's status, which shows starting processes that it is alive.
void write_status(Parts& p);
/// Asks for the commit that follows the tip. Returns true.
void act_next_commit(Parts& p);
/// Returns the error of a read that gave no commit of this run, with what to do about it.
[[nodiscard]] Error foreign_commit(Error error);
/// Counts that the record `name` is missing, and says so after some times. `why` says why it must
/// exist. Returns false if the process has waited long enough for it.
[[nodiscard]] bool awaits(Parts& p, std::string const& name, std::string const& why);
/// Counts a read that gave an invalid record. A single read may be corrupt; a damaged or foreign
/// object gives the same error in each read. Returns true after reads_limit such reads in a row.
[[nodiscard]] bool stays_invalid(Parts& p, Error const& error);
/// Handles a read that gave an invalid record. Reads the record again after a pause. If the record
/// stays invalid, exits with `error` instead.
void handle_invalid_record(Parts& p, Error error);
/// Returns the current time by the store's clock.
[[nodiscard]] Time store_now(Parts const& p);
/// Returns the id under which this process writes records. This is its member id. If the process is
/// not a member, it is an id with N = 0 (protocol/records/names.hpp).
[[nodiscard]] MemberId writer(Parts const& p);
/// Returns where this process will store the weights or the momentum of a model of `round`. `part`
/// is weights_part or momentum_part.
[[nodiscard]] PayloadPlace payload_place(Parts const& p, Round round, char const* part);
/// Implements Site::status.
[[nodiscard]] Status status(Parts const& p);

// ---- exit.cpp: the end of the process, and the work that it leaves behind

/// Work of this member that is in no commit and announced by no header in the store.
struct UnsavedWork {
    Tokens lost;  ///< nobody else has it
    /// The tokens in each record of which it is not known whether the store has it intact.
    std::map<std::string, Tokens> unanswered;
    [[nodiscard]] Tokens uncertain() const  ///< those of all these records
    {
        Tokens sum;
        for (auto const& [name, tokens] : unanswered) sum += tokens;
        return sum;
    }
};
/// Returns the work that is in no commit and no header if this process ends now.
[[nodiscard]] UnsavedWork unsaved_work(Parts const& p);
/// Exits. If a stop request left too little time for some work, the error says how much.
void finish_and_report_loss(Parts& p);
/// Sends a note that says that tokens of this process are lost.
void report_loss(Parts& p, Note note, Tokens tokens);
/// Deletes this process's payloads that no commit can name, and exits with the error's code. Says
/// how much work it leaves behind. Without an error, the code is that of lost work if there is any,
/// or if this process has lost any before.
void finish(Parts& p, std::optional<Error> error = {});

// ---- probe.cpp: PROBE

void act_probe_create(Parts& p);
void act_probe_again(Parts& p);
void answered_probe(Parts& p, Input const& input);
void act_run_get(Parts& p);
/// Asks for the numbers of all commits.
void act_list(Parts& p);
void answered_run_list(Parts& p, Input const& input);
void act_run_create(Parts& p);
void answered_run(Parts& p, Input const& input);

// ---- find.cpp: FIND

void act_find_commit(Parts& p);
void answered_find(Parts& p, Input const& input);
void answered_find_list(Parts& p, Input const& input);
void act_find_seen(Parts& p);
void answered_find_seen(Parts& p, Input const& input);
void act_find_parent(Parts& p);
void answered_find_parent(Parts& p, Input const& input);
void act_find_headers(Parts& p);
void act_find_status(Parts& p);
void answered_find_status(Parts& p, Input const& input);
void act_find_sent(Parts& p);
void answered_find_sent(Parts& p, Input const& input);
void act_find_round(Parts& p);
void answered_find_round(Parts& p, Input const& input);

/// Continues a start whose headers and amendment are known: enters `fold` or `join`.
void choose_entry(Parts& p);

// ---- amendments.cpp: the next amendment, retired sites
/// Says why the amendment is void that the tip has taken in, if this process has read it. `before`
/// are the terms of the tip's parent.
void report_void_amendment(Parts& p, Terms const& before);

void act_amendment(Parts& p);
void answered_amendment(Parts& p, Input const& input);
/// Returns true if the terms in force do not list this site.
[[nodiscard]] bool retired(Parts const& p);
/// Returns the error with which the process of such a site exits.
[[nodiscard]] Error retired_error(Parts const& p);

// ---- join.cpp: GENESIS, FOLD, JOIN

void act_genesis_store(Parts& p);
void answered_genesis_store(Parts& p, Input const& input);
void answered_genesis_list(Parts& p, Input const& input);
void act_genesis_create(Parts& p);
void answered_genesis_create(Parts& p, Input const& input);
void act_fold(Parts& p);
void act_join_headers(Parts& p);
void act_join(Parts& p);
/// Returns the id of this process's member in the tip. Returns null if there is none.
[[nodiscard]] MemberId const* own_member(Parts const& p);
void answered_join(Parts& p, Input const& input);

// ---- base.cpp: BASE

/// Starts the wait of a new member for its first model.
void begin_base(Parts& p);
void act_base_wait(Parts& p);
void answered_base_poll(Parts& p, Input const& input);
/// Records that this process begins to read the newest model, or tries again.
void begin_read(Parts& p);
void act_base_load(Parts& p);
void answered_base_load(Parts& p, Input const& input);
/// Handles `input`, which reports that the newest model or its momentum could not be read. `back`
/// is the phase that reads it. At the third Corrupt for the same tip, begins a repair and returns
/// true. Otherwise returns false: the caller reads again.
bool load_failed(Parts& p, Input const& input, Phase back);
/// Records that the newest model could be read.
void load_succeeded(Parts& p);
/// Returns true if a newer process of this site is a member.
[[nodiscard]] bool replaced(Parts const& p);
/// Returns the error with which a process exits because of that. `lost`: tokens of its work.
[[nodiscard]] Error replaced_error(Tokens lost);
/// Exits because the work of this process always comes too late (Pace).
void finish_too_slow(Parts& p);
/// Takes that this process, which wants to join, has read another commit. Exits and returns true if
/// it has read towards the newest one for as long as makes a member suspect.
bool is_too_slow_to_find(Parts& p);
/// Handles the removal of this member. The process exits if it is stopping, or if another process
/// of the site has replaced the member. Otherwise the process joins again.
void removed(Parts& p);

// ---- run.cpp: RUN

/// Enters the state `run`. Orders the trainer to train, except after a stop request.
void enter_run(Parts& p);
/// Orders the trainer to train, except after a stop request.
void order_training(Parts& p);
/// Tells the trainer on which blocks it may train from now on.
void send_order(Parts& p);
/// Lets a paused trainer continue if the store has failed three times in a row. The blocks of this
/// work count with the next cut (Adopt).
void train_through_outage(Parts& p);
void act_run(Parts& p);
/// Returns true if the member cuts next, or leaves. Otherwise makes a Tick due for the time from
/// which this is true, if the time is known.
bool wants_cut(Parts& p);
/// Returns true if this member counts as lone, i.e. if both conditions hold:
/// - all other members were admitted in the tip's round;
/// - this member was admitted in an earlier round, or before all other members.
[[nodiscard]] bool lone(Parts const& p);
/// Returns the blocks that this member holds and has not trained on.
[[nodiscard]] Ranges untrained(Parts const& p);
/// Returns those of untrained() on which the trainer may train before the next cut. A header lists
/// few ranges (RecordLimits), so it may be a part of them, or none: then a cut is due.
[[nodiscard]] Ranges trainable(Parts const& p);
/// Returns when the round that this member now takes over ends: `round_time` after the merge commit
/// with which it began, by the store's clock. This is at least `round_time` / 10 from now, and at
/// most `round_time`.
[[nodiscard]] MonoTime round_end(Parts const& p);
/// Returns true if this member's round has ended and the trainer has tried a step in it, or if the
/// trainer has made `local_steps` steps. Otherwise returns false, and makes a Tick due if only the
/// time is missing.
bool round_over(Parts& p);
void answered_run_poll(Parts& p, Input const& input);
void act_run_scan(Parts& p);
void answered_run_scan(Parts& p, Input const& input);

// ---- publish.cpp: CUT, PUBLISH, leaving

/// Asks the trainer for a cut. `leaving`: this is the member's last cut.
void begin_cut(Parts& p, bool leaving);
void answered_cut(Parts& p, Input const& input);
void act_publish_store(Parts& p);
void act_publish_header(Parts& p);
void act_publish_read(Parts& p);
void answered_publish(Parts& p, Input const& input);
/// Exits because this member has left the run, or has no time left to store more work.
void exit_after_leaving(Parts& p);
/// Starts to leave the run: asks the trainer for the last cut. A member without a model publishes
/// an empty last contribution instead.
void leave(Parts& p);

// ---- own_work.cpp: reading own headers and deltas back

/// Stores the header of `own` again.
void store_header_again(Parts& p, OwnContribution& own);
/// In the state `run`: reads a header or a delta back if it is time. Otherwise returns false.
bool attend_own_work(Parts& p);
void act_run_header(Parts& p);
void answered_run_header(Parts& p, Input const& input);
void act_run_delta(Parts& p);
void answered_run_delta(Parts& p, Input const& input);
void act_gather_own(Parts& p);
void answered_gather_own(Parts& p, Input const& input);
void act_gather_delta(Parts& p);
void answered_gather_delta(Parts& p, Input const& input);
void act_leave_header(Parts& p);
void answered_leave_header(Parts& p, Input const& input);
void answered_leave_commit(Parts& p, Input const& input);

// ---- lease.cpp: LEASE, WAIT, GATHER

/// Starts a merge. If this process holds a valid lease, gathers headers at once. Otherwise first
/// creates a lease.
void begin_lease(Parts& p);
void act_lease_create(Parts& p);
void answered_lease_create(Parts& p, Input const& input);
void act_lease_read(Parts& p);
void answered_lease_read(Parts& p, Input const& input);
void act_wait(Parts& p);
/// Handles the answer to a poll for the next commit, while waiting for a merge or preparing one.
void answered_merge_poll(Parts& p, Input const& input);
void act_gather_headers(Parts& p);
void act_gather_pause(Parts& p);

// ---- merge.cpp: MERGE, LONE

void act_merge(Parts& p);
void answered_merge(Parts& p, Input const& input);
void act_lone_store(Parts& p);
void answered_lone_store(Parts& p, Input const& input);
/// Returns the key of the merge that makes this commit's model.
[[nodiscard]] MergeKey key_of(Parts const& p, Commit const& commit);
/// Returns true if this process has stored the model with this key.
[[nodiscard]] bool has_made(Parts const& p, MergeKey const& key);

// ---- scanning.cpp: scans for pending contributions

/// Starts a scan for pending contributions of `members`. Adds this member's own published
/// contributions to Membership::pending without reading their headers.
void begin_scan(Parts& p, std::vector<MemberId> members);
/// Returns the members in the tip other than this process's member.
[[nodiscard]] std::vector<MemberId> others(Parts const& p);
/// Returns true if another process of this site is the member.
[[nodiscard]] bool is_twin(Parts const& p, Member const& m);
/// Returns the members in the tip that are earlier processes of this site and have ended
/// (Predecessors). If this process is not a member, all other processes of the site count as
/// earlier.
[[nodiscard]] std::vector<MemberId> earlier_instances(Parts const& p);
/// Asks for the next header of the scan. Returns false if the scan is complete.
bool act_scan(Parts& p);
void answered_scan(Parts& p, Input const& input);
/// Starts the scan of a starting process again, after a pause, if Scan::must_repeat(). Otherwise
/// returns false.
[[nodiscard]] bool repeat_scan(Parts& p, std::vector<MemberId> members);
/// Returns the member's first undecided contribution. Returns null if this process has not found
/// this contribution, or if the tip does not list the member.
[[nodiscard]] KnownContribution const* find_contribution(Parts const& p, MemberId const& id);
/// Returns true if the member may be removed as silent. A member judges by what it has seen itself
/// (Watch). A starting process judges by the times in the chain and in the status of the member's
/// site (protocol::is_suspect).
[[nodiscard]] bool suspect(Parts const& p, Member const& m);
/// Adds the removal of a member to the next commit. A removal discards the work that the member's
/// next header announces. So the function does nothing if the scan found this header, or if
/// Scan::unresolved() returns true for the member.
void propose_removal(Parts& p, MemberId const& id, Removal reason);

// ---- commit.cpp: COMMIT

/// Starts to create the next commit, for the purpose `mode`.
void begin_commit(Parts& p, Mode mode);
/// Builds the commit that follows the tip. Returns an empty optional if protocol::next() does.
[[nodiscard]] std::optional<Commit> build(Parts const& p);
void act_commit_create(Parts& p);
void answered_commit_create(Parts& p, Input const& input);
/// If `commit` is valid, makes it the draft and returns true. Otherwise returns false:
/// - in a fold or merge, PendingContributions::postpone_latest() leaves out a contribution, and the
/// site merges again;
/// - a lone member publishes its contributions instead;
/// - in another mode, or if there is no contribution to leave out, the process exits.
bool set_draft(Parts& p, Commit commit);
void answered_commit_read(Parts& p, Input const& input);
/// Gives up a lease, merge or commit that failed repeatedly. A member reads the chain and returns
/// to the state `run`. It tries again after a quarter of the lease time. A process that is not a
/// member returns to the state `find`.
void give_up(Parts& p);
void act_garbage(Parts& p);
void answered_garbage(Parts& p, Input const& input);

// ---- adopt.cpp: reading the chain, ADOPT

/// Takes the bytes of the commit that follows the tip. If the commit is valid, makes it the new
/// tip. Returns false if the commit is invalid or the process has exited.
bool take_next(Parts& p, std::string const& bytes);
/// Reads forward to the newest commit, for `adopt_forward` and `base_forward`.
void answered_forward(Parts& p, Input const& input);
/// Compares the newest merge with the headers that it decides.
void act_adopt_headers(Parts& p);
void answered_adopt_headers(Parts& p, Input const& input);
void act_adopt_apply(Parts& p);
void answered_adopt(Parts& p, Input const& input);

// ---- mend.cpp: commits that the store has lost

/// Begins to create the highest of the `missing` commits again. Continues with `back`, whether it
/// succeeds or not. If `back` is not `run`, the process exits after misses_limit failures in a row.
void begin_mend(Parts& p, Ranges const& missing, Phase back);
/// In the state `run`: looks for lost commits if it is time. Otherwise returns false.
bool attend_lost_commits(Parts& p);
void act_mend_list(Parts& p);
void answered_mend_list(Parts& p, Input const& input);
void act_mend_successor(Parts& p);
void answered_mend_successor(Parts& p, Input const& input);
void act_mend_copy(Parts& p);
void answered_mend_copy(Parts& p, Input const& input);
void act_mend_below(Parts& p);
void answered_mend_below(Parts& p, Input const& input);
void act_mend_create(Parts& p);
void answered_mend_create(Parts& p, Input const& input);
void act_mend_read(Parts& p);
void answered_mend_read(Parts& p, Input const& input);
/// Reads the tip once more before this process creates its successor. Other bytes end the process;
/// a missing commit is created again.
void act_check_tip(Parts& p);
void answered_check_tip(Parts& p, Input const& input);
/// Looks for commits beyond the next one. If there are any, the next one is lost, too.
void act_check_end(Parts& p);
void answered_check_end(Parts& p, Input const& input);

// ---- repair.cpp: a model or momentum that cannot be read

/// Begins to repair the object that `corrupt` names, or continues. After Params::repair_wait, the
/// process exits instead. Otherwise it returns to `back` in the end, which reads the object again.
/// A leaving process leaves without the model.
void begin_repair(Parts& p, Corrupt const& corrupt, Phase back);
void answered_repair_forward(Parts& p, Input const& input);
void act_repair_restore(Parts& p);
void answered_repair_restore(Parts& p, Input const& input);
void act_repair_request(Parts& p);
void answered_repair_request(Parts& p, Input const& input);
/// Continues a repair after the attempt to compute the model once more has ended without it.
void recompute_ended(Parts& p);
/// Returns the number of the commit that made the model of `tip`.
[[nodiscard]] CommitNumber commit_of_model(Commit const& tip);
/// Orders the program to keep the bytes of the newest model and momentum only.
void keep_model(Parts& p);
/// Lets a new member look for a request of another site within some seconds.
void look_for_repairs_soon(Parts& p);
/// Serves a request of another site, or looks for the next one, if it is time. The process then
/// returns to the current phase. Returns false if it is not time.
bool attend_repairs(Parts& p);
void act_repair_look(Parts& p);
void answered_repair_look(Parts& p, Input const& input);

// ---- recompute.cpp: reads the records of the newest merge and computes it once more

void act_repair_made(Parts& p);
void answered_repair_made(Parts& p, Input const& input);
void act_repair_parent(Parts& p);
void answered_repair_parent(Parts& p, Input const& input);
void act_repair_header(Parts& p);
void answered_repair_header(Parts& p, Input const& input);
void act_repair_merge(Parts& p);

}  // namespace curtail::protocol::site
