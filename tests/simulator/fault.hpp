// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace curtail::protocol::simulator {

/// Deliberate faults, each of which breaks one rule. docs/simulator.md describes them. Further
/// faults are patches in tests/mutants/.
enum class Fault {
    create_without_rebuild,
    free_blocks_of_suspects,
    decide_twice,
    overwrite_commits,
    forget_undecided,
    reuse_identity,
    extend_cut,
    delete_after_timeout,
    drop_without_record,
    remove_leaver_early,
    keep_refused_work,
    include_removed,
    join_twice,
    reuse_id,
    commit_stale_lone_model,
    never_suspect,
    skip_stale,
    merge_unweighted,
    merge_without_momentum,
    count_unanswered_time,
    remove_unreadable_at_once,
    transfer_after_deadline,
    set_aside_at_first_skip,
    grant_skipped_again,
    obey_amendments_early,
    refuse_by_own_parameters,
    never_restore_header,
    write_no_status,
    reuse_merge_after_amendment,
    train_after_leaving,
    never_restore_model,
    ignore_amendments,
    train_beyond_round,
    exit_in_outage,
    take_answers_twice,
    fold_at_first_look,
    sweep_pending_deltas,
    restart_fork,
    lose_in_silence,
    announce_late,
    merge_unclipped,
    clip_without_record
};
inline constexpr int fault_count = static_cast<int>(Fault::clip_without_record) + 1;

/// What is known about a deliberate fault.
struct FaultRow {
    Fault fault;
    char const* name;
    char const* what;  ///< what the faulty site does, as a sentence without its subject
    char const* how;   ///< what the saboteur or the simulation changes
};
/// Returns the row of the fault.
[[nodiscard]] FaultRow const& row(Fault fault);

}  // namespace curtail::protocol::simulator
