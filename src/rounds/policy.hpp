// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

namespace curtail::rounds {

namespace simulator {
class Saboteur;
}

/// Deliberate faults, each of which breaks one rule. docs/simulator.md describes them.
enum class Fault {
    create_without_rebuild,
    free_blocks_of_suspects,
    decide_twice,
    overwrite_commits,
    forget_undecided,
    commit_lone_on_any_base,
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
    end_rounds_by_clock_alone,
    count_unanswered_time,
    remove_unreadable_at_once,
    transfer_after_deadline,
    set_aside_at_first_skip,
    grant_skipped_again,
    obey_amendments_early,
    refuse_by_own_parameters,
    never_restore_header,
    fold_at_first_look,
    write_no_status,
    reuse_merge_after_amendment,
    train_after_leaving,
    never_restore_model,
    sweep_pending_deltas,
    restart_fork
};
inline constexpr int fault_count = static_cast<int>(Fault::restart_fork) + 1;

/// The rules by which a Site acts: all of them. Only the simulator can make a policy that breaks a
/// rule. It does so to show that its invariants detect the fault.
class Policy {
  public:
    constexpr Policy() = default;
    [[nodiscard]] constexpr bool breaks(Fault fault) const { return fault_ == fault; }
    [[nodiscard]] constexpr bool is_correct() const { return !fault_; }

  private:
    friend class simulator::Saboteur;
    explicit constexpr Policy(Fault fault) : fault_(fault) {}
    std::optional<Fault> fault_;
};

}  // namespace curtail::rounds
