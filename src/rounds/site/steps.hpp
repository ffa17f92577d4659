// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/site/limits.hpp"
#include "rounds/site/parts.hpp"

/// The steps of a Site: actions and answer handlers of its phases.
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
[[nodiscard]] Row const& row(Parts const& p);

/// Site::on.
[[nodiscard]] std::vector<Output> on(Parts& p, MonoTime now, Input const& input);
[[nodiscard]] Rate rate(Parts const& p);
[[nodiscard]] Status status(Parts const& p);

// ---- machine

void answered(Parts& p, Op op, Input const& input);
void settle(Parts& p);
void out_of_time(Parts& p);
/// Asks for the commit after the tip.
bool act_next_commit(Parts& p);
bool refused_at_start(Parts& p, Input const& input);
void stepped(Parts& p, Stepped const& step);
void finish(Parts& p, ExitCode code, std::optional<Error> error = {});
void refuse(Parts& p, Error error);
[[nodiscard]] Time store_now(Parts const& p);
[[nodiscard]] MemberId writer(Parts const& p);
[[nodiscard]] std::vector<Target> targets(Parts const& p, Round round,
                                          std::string (*part_name)(std::string_view));

// ---- start

bool act_probe_create(Parts& p);
bool act_probe_again(Parts& p);
void answered_probe(Parts& p, Input const& input);
bool act_run_get(Parts& p);
bool act_run_create(Parts& p);
void answered_run(Parts& p, Input const& input);
bool act_find_commit(Parts& p);
[[nodiscard]] CommitNumber number_to_find(Parts const& p);
void answered_find(Parts& p, Input const& input);
void found_newest(Parts& p);
bool act_find_parent(Parts& p);
void answered_find_parent(Parts& p, Input const& input);
bool act_find_headers(Parts& p);
void retry_absent(Parts& p, Phase phase, Input const& input, CommitNumber absent);
bool act_find_sent(Parts& p);
void answered_find_sent(Parts& p, Input const& input);
bool act_find_round(Parts& p);
void answered_find_round(Parts& p, Input const& input);
void choose_entry(Parts& p);
[[nodiscard]] bool alive(Parts const& p, Member const& m);
bool act_genesis_store(Parts& p);
void answered_genesis_store(Parts& p, Input const& input);
bool act_genesis_create(Parts& p);
void answered_genesis_create(Parts& p, Input const& input);
bool act_fold(Parts& p);
bool act_join_headers(Parts& p);
bool act_join(Parts& p);
void answered_join(Parts& p, Input const& input);

// ---- base

void begin_base(Parts& p);
[[nodiscard]] bool has_lone_partner(Parts const& p);
bool act_base_wait(Parts& p);
void answered_base_poll(Parts& p, Input const& input);
bool act_base_load(Parts& p);
void answered_base_load(Parts& p, Input const& input);
void answered_base_forward(Parts& p, Input const& input);
/// True if the process exits.
bool load_failed(Parts& p, Input const& input);
void removed(Parts& p);

// ---- work

void enter_run(Parts& p);
bool act_run(Parts& p);
[[nodiscard]] bool lone(Parts const& p);
[[nodiscard]] Ranges trainable(Parts const& p);
[[nodiscard]] bool cut_possible(Parts const& p);
bool due(Parts& p);
bool round_over(Parts& p);
[[nodiscard]] Millis poll_interval(Parts const& p);
[[nodiscard]] bool wants_rate(Parts const& p);
[[nodiscard]] bool wants_publishing(Parts const& p);
void answered_run_poll(Parts& p, Input const& input);
bool act_run_scan(Parts& p);
void run_scan_done(Parts& p);
void begin_cut(Parts& p, bool leaving);
void answered_cut(Parts& p, Input const& input);
[[nodiscard]] bool lone_possible(Parts const& p);
bool act_publish_store(Parts& p);
bool act_publish_header(Parts& p);
bool act_publish_read(Parts& p);
void answered_publish(Parts& p, Input const& input);
void header_exists(Parts& p, std::string const& bytes);
void contributed(Parts& p);
void published_all(Parts& p);
void leave(Parts& p);
[[nodiscard]] std::int64_t target_at_measured_rate(Parts const& p);
bool act_on_round(Parts& p);
[[nodiscard]] bool can_merge(Parts& p);
void commit_rate(Parts& p);
void begin_run_scan(Parts& p);
[[nodiscard]] bool merges_after_scan(Parts& p);
[[nodiscard]] Own empty_contribution(Parts const& p, Round base);
[[nodiscard]] Own contribution_of(Parts const& p, CutReady const& ready);
void delta_stored(Parts& p, std::vector<PartRef> const& stored);

// ---- merging

void begin_lease(Parts& p);
bool act_lease_create(Parts& p);
void answered_lease_create(Parts& p, Input const& input);
bool act_lease_read(Parts& p);
void answered_lease_read(Parts& p, Input const& input);
void lease_exists(Parts& p, std::string const& bytes);
bool act_wait(Parts& p);
void answered_wait_poll(Parts& p, Input const& input);
void begin_gather(Parts& p);
bool act_gather_headers(Parts& p);
bool act_gather_pause(Parts& p);
void answered_gather_poll(Parts& p, Input const& input);
void polled_during_merge(Parts& p, Input const& input, Phase back);
void gather_done(Parts& p);
[[nodiscard]] bool all_found(Parts const& p);
bool act_merge(Parts& p);
void answered_merge(Parts& p, Input const& input);
void merge_refused(Parts& p, std::vector<Merged::Bad> const& bad);
bool act_lone_store(Parts& p);
void answered_lone_store(Parts& p, Input const& input);
[[nodiscard]] MergeKey key_of(Parts const& p, Commit const& commit);
[[nodiscard]] bool has_made(Parts const& p, MergeKey const& key);
[[nodiscard]] Merge merge_of(Parts& p, MergeKey const& key);

// ---- headers

void begin_scan(Parts& p, std::vector<MemberId> members);
[[nodiscard]] std::vector<MemberId> others(Parts const& p);
[[nodiscard]] std::vector<MemberId> earlier_instances(Parts const& p);
/// False: nothing left to read.
bool act_scan(Parts& p);
void answered_scan(Parts& p, Input const& input);
/// Its next one, if found.
[[nodiscard]] Found const* header_of(Parts const& p, MemberId const& id);
[[nodiscard]] bool suspect(Parts const& p, Member const& m);
void propose_removal(Parts& p, MemberId const& id, Removal reason);

// ---- chain

/// False: invalid, or the run is complete.
bool take_next(Parts& p, std::string const& bytes);
void own_decisions(Parts& p);
void begin_commit(Parts& p, Mode mode);
[[nodiscard]] std::optional<Commit> build(Parts const& p);
bool act_commit_create(Parts& p);
bool draft_commit(Parts& p);
void answered_commit_create(Parts& p, Input const& input);
/// False: readers would refuse it; the phase has changed.
bool set_draft(Parts& p, Commit commit);
[[nodiscard]] bool lone_valid(Parts const& p, Commit const& next);
void answered_commit_read(Parts& p, Input const& input);
void landed(Parts& p);
void after_commit(Parts& p);
void give_up(Parts& p);
void answered_adopt_forward(Parts& p, Input const& input);
bool act_adopt_apply(Parts& p);
void answered_adopt(Parts& p, Input const& input);
void resume(Parts& p);

// ---- garbage

bool act_garbage(Parts& p);
void answered_garbage(Parts& p, Input const& input);

}  // namespace curtail::rounds::site
