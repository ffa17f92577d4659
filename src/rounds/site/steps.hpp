// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/site/limits.hpp"
#include "rounds/site/parts.hpp"

/// The steps of a Site: actions (act_*) and answer handlers (answered_*) of its phases. Each file
/// holds the steps of some states.
namespace curtail::rounds::site {

/// One phase: its texts, its next action and the handler of the answer.
struct Row {
    Phase phase;
    State state;
    bool early;  ///< without a model yet: a stop request ends the process at once
    char const* waiting_for;
    bool (*act)(Parts&);                     ///< false: nothing to do until time has passed
    void (*answered)(Parts&, Input const&);  ///< null: the phase asks no question
};
/// The row of the current phase.
[[nodiscard]] Row const& row(Parts const& p);

// ---- loop.cpp: the loop, and helpers of all steps

/// Site::on.
[[nodiscard]] std::vector<Output> on(Parts& p, MonoTime now, Input const& input);
/// Site::rate.
[[nodiscard]] Rate rate(Parts const& p);
/// Asks for the commit after the tip.
bool act_next_commit(Parts& p);
/// Deletes unsent payloads and exits.
void finish(Parts& p, ExitCode code, std::optional<Error> error = {});
/// An invalid record: reads it again, exits at the sixth time.
void refuse(Parts& p, Error error);
/// Current time by the store's clock.
[[nodiscard]] Time store_now(Parts const& p);
/// This process as the writer of a record: its member id, or an id with N = 0.
[[nodiscard]] MemberId writer(Parts const& p);
/// Names of payload files that this process will store for a model of `round`.
[[nodiscard]] std::vector<Target> targets(Parts const& p, Round round,
                                          std::string (*part_name)(std::string_view));
/// Site::status.
[[nodiscard]] Status status(Parts const& p);

// ---- probe.cpp: PROBE

bool act_probe_create(Parts& p);
bool act_probe_again(Parts& p);
void answered_probe(Parts& p, Input const& input);
bool act_run_get(Parts& p);
bool act_run_create(Parts& p);
void answered_run(Parts& p, Input const& input);

// ---- find.cpp: FIND

bool act_find_commit(Parts& p);
void answered_find(Parts& p, Input const& input);
bool act_find_parent(Parts& p);
void answered_find_parent(Parts& p, Input const& input);
bool act_find_headers(Parts& p);
bool act_find_sent(Parts& p);
void answered_find_sent(Parts& p, Input const& input);
bool act_find_round(Parts& p);
void answered_find_round(Parts& p, Input const& input);

// ---- join.cpp: GENESIS, FOLD, JOIN

bool act_genesis_store(Parts& p);
void answered_genesis_store(Parts& p, Input const& input);
bool act_genesis_create(Parts& p);
void answered_genesis_create(Parts& p, Input const& input);
bool act_fold(Parts& p);
bool act_join_headers(Parts& p);
bool act_join(Parts& p);
void answered_join(Parts& p, Input const& input);

// ---- base.cpp: BASE

/// Waits for a first model as a new member.
void begin_base(Parts& p);
bool act_base_wait(Parts& p);
void answered_base_poll(Parts& p, Input const& input);
bool act_base_load(Parts& p);
void answered_base_load(Parts& p, Input const& input);
void answered_base_forward(Parts& p, Input const& input);
/// Counts failures to read the tip's model. True if the process exits.
bool load_failed(Parts& p, Input const& input);
/// No longer in the member table: joins again, unless another process has taken the place.
void removed(Parts& p);

// ---- run.cpp: RUN

/// Trains on the blocks held.
void enter_run(Parts& p);
bool act_run(Parts& p);
/// True if every other member was admitted in this round. If this one was too, the smallest N is
/// lone.
[[nodiscard]] bool lone(Parts const& p);
/// Blocks held that this site has not trained.
[[nodiscard]] Ranges trainable(Parts const& p);
/// True at the end of round_time or after local_steps. Otherwise schedules a Tick for it.
bool round_over(Parts& p);
void answered_run_poll(Parts& p, Input const& input);
bool act_run_scan(Parts& p);

// ---- publish.cpp: CUT, PUBLISH, leaving

/// Orders a cut from the trainer.
void begin_cut(Parts& p, bool leaving);
void answered_cut(Parts& p, Input const& input);
bool act_publish_store(Parts& p);
bool act_publish_header(Parts& p);
bool act_publish_read(Parts& p);
void answered_publish(Parts& p, Input const& input);
/// Finishes the step and contributes the work done. A member without a model leaves by a header
/// without work.
void leave(Parts& p);

// ---- lease.cpp: LEASE, WAIT, GATHER

/// Merges with an own lease, or takes one.
void begin_lease(Parts& p);
bool act_lease_create(Parts& p);
void answered_lease_create(Parts& p, Input const& input);
bool act_lease_read(Parts& p);
void answered_lease_read(Parts& p, Input const& input);
bool act_wait(Parts& p);
void answered_wait_poll(Parts& p, Input const& input);
bool act_gather_headers(Parts& p);
bool act_gather_pause(Parts& p);
void answered_gather_poll(Parts& p, Input const& input);

// ---- merge.cpp: MERGE, LONE

bool act_merge(Parts& p);
void answered_merge(Parts& p, Input const& input);
bool act_lone_store(Parts& p);
void answered_lone_store(Parts& p, Input const& input);
/// The key of the merge that makes this commit's model.
[[nodiscard]] MergeKey key_of(Parts const& p, Commit const& commit);
/// True if that model is stored.
[[nodiscard]] bool has_made(Parts const& p, MergeKey const& key);

// ---- scanning.cpp: scans for pending contributions

/// Starts a scan of these members' next headers. Own published ones are already known.
void begin_scan(Parts& p, std::vector<MemberId> members);
/// All other members.
[[nodiscard]] std::vector<MemberId> others(Parts const& p);
/// Members of this site that started before this process.
[[nodiscard]] std::vector<MemberId> earlier_instances(Parts const& p);
/// Asks for the next header of the scan. False: the scan is complete.
bool act_scan(Parts& p);
void answered_scan(Parts& p, Input const& input);
/// The member's next contribution, if found.
[[nodiscard]] Found const* header_of(Parts const& p, MemberId const& id);
/// True if the member may be removed as silent.
[[nodiscard]] bool suspect(Parts const& p, Member const& m);
/// Removes only a member whose next header was asked for and is missing or unreadable: a removal
/// discards announced work.
void propose_removal(Parts& p, MemberId const& id, Removal reason);

// ---- commit.cpp: COMMIT

/// Creates the next commit for this purpose.
void begin_commit(Parts& p, Mode mode);
/// The next commit on the tip, or nothing to commit.
[[nodiscard]] std::optional<Commit> build(Parts const& p);
bool act_commit_create(Parts& p);
void answered_commit_create(Parts& p, Input const& input);
/// Keeps `commit` as the draft if it is valid. False: it is not; the phase has changed.
bool set_draft(Parts& p, Commit commit);
void answered_commit_read(Parts& p, Input const& input);
/// Returns to training for a while after failures to commit or merge.
void give_up(Parts& p);
bool act_garbage(Parts& p);
void answered_garbage(Parts& p, Input const& input);

// ---- adopt.cpp: reading the chain, ADOPT

/// Advances the tip. False: the record is invalid, or the process has exited.
bool take_next(Parts& p, std::string const& bytes);
void answered_adopt_forward(Parts& p, Input const& input);
bool act_adopt_apply(Parts& p);
void answered_adopt(Parts& p, Input const& input);

}  // namespace curtail::rounds::site
