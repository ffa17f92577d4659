// SPDX-License-Identifier: Apache-2.0
#include "simulator/fault.hpp"

#include <iterator>

namespace curtail::protocol::simulator {
namespace {

constexpr FaultRow rows[] = {
    {Fault::create_without_rebuild, "create-without-rebuild",
     "sends a commit that lost its number under the next one, without rebuilding it",
     "the commits it creates"},
    {Fault::free_blocks_of_suspects, "free-blocks-of-suspects",
     "frees the blocks of a member that missed a merge, but keeps the member",
     "the commits it creates"},
    {Fault::decide_twice, "decide-twice", "decides a contribution that was decided before",
     "the commits it creates"},
    {Fault::overwrite_commits, "overwrite-commits", "stores commits without the condition",
     "the store"},
    {Fault::forget_undecided, "forget-undecided", "drops undecided deltas when it adopts a model",
     "`Adopt`"},
    {Fault::reuse_identity, "reuse-identity",
     "takes the same id and numbers again after a restart, and trusts the header it finds",
     "its identity, and reads of its own headers"},
    {Fault::extend_cut, "extend-cut", "announces more work when it repeats the create of a header",
     "the headers it creates"},
    {Fault::delete_after_timeout, "delete-after-timeout",
     "deletes its model when a create of the commit has no answer", "adds `Delete`"},
    {Fault::drop_without_record, "drop-without-record",
     "removes a member without naming it in the commit", "the commits it creates"},
    {Fault::remove_leaver_early, "remove-leaver-early",
     "removes a leaving member while an earlier contribution is undecided",
     "its decoder of headers"},
    {Fault::keep_refused_work, "keep-refused-work", "keeps refused work in the weights", "`Adopt`"},
    {Fault::include_removed, "include-removed", "includes a contribution of a removed member",
     "the commits it creates"},
    {Fault::join_twice, "join-twice", "joins again although its first join has landed",
     "the commits it creates"},
    {Fault::reuse_id, "reuse-id", "makes ids without the number of the commit",
     "the commits it creates"},
    {Fault::commit_stale_lone_model, "commit-stale-lone-model",
     "commits the weights that it stored for an earlier cut", "the commits it creates"},
    {Fault::never_suspect, "never-suspect", "never removes a silent member",
     "withholds the commits it creates"},
    {Fault::skip_stale, "skip-stale", "passes over contributions that are too stale",
     "reads of headers"},
    {Fault::merge_unweighted, "merge-unweighted", "merges with equal weights", "`Merge`"},
    {Fault::merge_without_momentum, "merge-without-momentum", "forgets the momentum", "`Merge`"},
    {Fault::count_unanswered_time, "count-unanswered-time",
     "counts time in which it was suspended as silence of the others", "adds `Tick`"},
    {Fault::remove_unreadable_at_once, "remove-unreadable-at-once",
     "takes a header for missing when the first read fails", "reads of headers"},
    {Fault::transfer_after_deadline, "transfer-after-deadline",
     "begins a transfer when the time for it is over", "`StopRequested`"},
    {Fault::set_aside_at_first_skip, "set-aside-at-first-skip",
     "sets blocks aside when they are skipped once", "the commits it creates"},
    {Fault::grant_skipped_again, "grant-skipped-again",
     "grants blocks to a site that skipped them while another site could try",
     "the commits it creates"},
    {Fault::obey_amendments_early, "obey-amendments-early",
     "grants by an amendment in the commit that takes it in", "the commits it creates"},
    {Fault::refuse_by_own_parameters, "refuse-by-own-parameters",
     "refuses by the parameters of its own configuration", "the commits it creates"},
    {Fault::never_restore_header, "never-restore-header",
     "never reads its own headers back, so it never stores a damaged one again",
     "reads of its own headers"},
    {Fault::write_no_status, "write-no-status", "does not write its status",
     "withholds `Overwrite`"},
    {Fault::reuse_merge_after_amendment, "reuse-merge-after-amendment",
     "commits a model that it merged before an amendment of the outer optimizer", "`Merge`"},
    {Fault::train_after_leaving, "train-after-leaving",
     "trains through an outage after the last cut of a member", "adds `Train`"},
    {Fault::never_restore_model, "never-restore-model",
     "never stores a lost model again from its copy", "withholds `Restore`"},
    {Fault::sweep_pending_deltas, "sweep-pending-deltas",
     "sweeps deltas that members may still announce", "the sweep"},
    {Fault::restart_fork, "restart-fork", "begins a fork as if its model contained no block",
     "the fork"},
};
static_assert(std::size(rows) == fault_count);

}  // namespace

FaultRow const& row(Fault fault) { return rows[static_cast<int>(fault)]; }

}  // namespace curtail::protocol::simulator
