// SPDX-License-Identifier: Apache-2.0
#include "simulator/saboteur.hpp"

#include <iterator>

namespace curtail::rounds::simulator {
namespace {

constexpr FaultRow rows[] = {
    {Fault::create_without_rebuild, "create-without-rebuild",
     "sends a commit that lost its number under the next one, without rebuilding it"},
    {Fault::free_blocks_of_suspects, "free-blocks-of-suspects",
     "frees the blocks of a member that missed a merge, but keeps the member"},
    {Fault::decide_twice, "decide-twice", "decides a contribution that was decided before"},
    {Fault::overwrite_commits, "overwrite-commits", "stores commits without the condition"},
    {Fault::forget_undecided, "forget-undecided", "drops undecided deltas when it adopts a model"},
    {Fault::commit_lone_on_any_base, "commit-lone-on-any-base",
     "commits its own weights on a model that they do not contain"},
    {Fault::reuse_identity, "reuse-identity",
     "takes the same id and numbers again after a restart, and trusts the header it finds"},
    {Fault::extend_cut, "extend-cut",
     "adds work to a contribution whose header may be in the store"},
    {Fault::delete_after_timeout, "delete-after-timeout",
     "deletes its model when a create of the commit has no answer"},
    {Fault::drop_without_record, "drop-without-record",
     "removes a member without naming it in the commit"},
    {Fault::remove_leaver_early, "remove-leaver-early",
     "removes a leaving member while an earlier contribution is undecided"},
    {Fault::keep_refused_work, "keep-refused-work", "keeps refused work in the weights"},
    {Fault::include_removed, "include-removed", "includes a contribution of a removed member"},
    {Fault::join_twice, "join-twice", "joins again although its first join has landed"},
    {Fault::reuse_id, "reuse-id", "makes ids without the number of the commit"},
    {Fault::commit_stale_lone_model, "commit-stale-lone-model",
     "commits the weights that it stored for an earlier cut"},
    {Fault::never_suspect, "never-suspect", "never removes a silent member"},
    {Fault::skip_stale, "skip-stale", "passes over contributions that are too stale"},
    {Fault::merge_unweighted, "merge-unweighted", "merges with equal weights"},
    {Fault::merge_without_momentum, "merge-without-momentum", "forgets the momentum"},
    {Fault::end_rounds_by_clock_alone, "end-rounds-by-clock-alone",
     "ends rounds by the store's clock without a limit"},
    {Fault::count_unanswered_time, "count-unanswered-time",
     "counts time in which it was suspended as silence of the others"},
    {Fault::remove_unreadable_at_once, "remove-unreadable-at-once",
     "takes a header for missing when the first read fails"},
    {Fault::transfer_after_deadline, "transfer-after-deadline",
     "begins a transfer when the time for it is over"},
    {Fault::set_aside_at_first_skip, "set-aside-at-first-skip",
     "sets blocks aside when they are skipped once"},
    {Fault::grant_skipped_again, "grant-skipped-again",
     "grants blocks to a site that skipped them while another site could try"},
    {Fault::obey_amendments_early, "obey-amendments-early",
     "grants by an amendment in the commit that takes it in"},
    {Fault::refuse_by_own_parameters, "refuse-by-own-parameters",
     "refuses by the parameters of its own configuration"},
    {Fault::never_restore_header, "never-restore-header",
     "never reads its own headers back, so it never stores a damaged one again"},
    {Fault::fold_at_first_look, "fold-at-first-look",
     "removes members that seem silent without a second look at their status"},
    {Fault::write_no_status, "write-no-status", "does not write its status"},
    {Fault::reuse_merge_after_amendment, "reuse-merge-after-amendment",
     "commits a model that it merged before an amendment of the outer optimizer"},
    {Fault::train_after_leaving, "train-after-leaving",
     "trains through an outage after the last cut of a member"},
    {Fault::never_restore_model, "never-restore-model",
     "never stores a lost model again from its copy"},
    {Fault::sweep_pending_deltas, "sweep-pending-deltas",
     "sweeps deltas that members may still announce"},
    {Fault::restart_fork, "restart-fork", "begins a fork as if its model contained no block"},
};
static_assert(std::size(rows) == fault_count);

}  // namespace

FaultRow const& row(Fault fault) { return rows[static_cast<int>(fault)]; }

}  // namespace curtail::rounds::simulator
