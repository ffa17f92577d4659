// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/log.hpp"
#include "poller/launch/launcher.hpp"
#include "poller/poll/holds.hpp"
#include "poller/poll/job_decisions.hpp"
#include "poller/poll/permission_writer.hpp"
#include "poller/poll/recovery.hpp"
#include "poller/poll/state_store.hpp"
#include "poller/poll/status.hpp"
#include "poller/poll/window_evaluation.hpp"
#include "poller/signals/provider.hpp"

namespace curtail::poll {

/// The result of evaluating a site's window.
struct WindowResult {
    bool phase_changed{false};  ///< the window's phase has changed
    /// An error if the new samples or the new state could not be written to the poller's folder.
    /// Even then the window was evaluated.
    Result<void> stored;
};
/// The result of managing a site's jobs.
struct JobResult {
    bool listed{false};  ///< the launcher listed the jobs; if not, nothing was decided
    /// An error if the poller's state or journal could not be written. Even then the poller carries
    /// out the decisions to stop jobs, because a full disk must not keep jobs running.
    Result<void> stored;
};

/// Returns the first error of two writes.
[[nodiscard]] inline Result<void> first_error(Result<void> const& first, Result<void> const& second)
{
    return first ? second : first;
}

/// What is needed to poll one site. `site` must outlive this object.
struct SiteParts {
    config::Site const& site;
    RunId run;
    std::filesystem::path folder;         ///< the site's folder, with its permission and its hold
    std::filesystem::path complete_file;  ///< if this file exists, the run needs no more jobs
    std::unique_ptr<signals::Provider> provider;  ///< null: the window is not evaluated, and its
                                                  ///< stored phase is used
    std::unique_ptr<launch::Launcher> launcher;
    plan::JobLimits limits;
    /// Set only if `provider` replays a trace: the start of the trace, on the signal's clock. The
    /// run's first evaluation of the window begins at this time.
    std::optional<Time> trace_start;
    double speed{1};  ///< seconds of the signal's clock per real second
    /// Further folders with holds of the centre's operators (Run::hold_folders).
    std::vector<std::filesystem::path> hold_folders{};
};

/// Polls one site. Reads signals and lists jobs. The pure functions in window_evaluation.hpp and
/// job_decisions.hpp decide; this class stores and carries out the decisions. One thread may
/// evaluate the window while another manages the jobs.
class SitePoller {
  public:
    /// `store` must outlive this object.
    SitePoller(SiteParts parts, StateStore& store, Log log);

    /// Evaluates the window up to the time `signal_now` on the signal's clock.
    [[nodiscard]] WindowResult evaluate(Time signal_now);
    /// Renews the permission of the site's jobs, or ends it if no job should run. If all jobs
    /// should stop, `stop_reason` is the reason. Without a provider, only ends it.
    [[nodiscard]] Result<void> renew_permission(Time signal_now, StopReason stop_reason);
    /// Lists the jobs and decides the actions. Carries out the actions unless `dry_run` is set.
    /// Submits a job only after writing its permission, and the intent to the journal. If all jobs
    /// should stop, `stop_reason` is the reason.
    [[nodiscard]] JobResult manage_jobs(Time signal_now, StopReason stop_reason, bool dry_run);
    /// Returns true if the poller tracks no job and knows the outcome of every submission.
    [[nodiscard]] bool is_idle() const;
    /// For all later polls, sets JobLimits::grace to 0 and JobLimits::drains_before_cancel to 1.
    void skip_grace();
    /// Returns what the last poll found out.
    [[nodiscard]] PollFindings findings() const;
    [[nodiscard]] SiteId const& id() const { return parts_.site.site; }

  private:
    [[nodiscard]] bool is_replay() const { return parts_.trace_start.has_value(); }
    [[nodiscard]] plan::JobLimits limits() const;
    [[nodiscard]] Decisions decisions() const;
    [[nodiscard]] bool is_complete() const;
    /// Leaves the window of a replay as it is, because the clock is behind it.
    [[nodiscard]] WindowResult wait_for_clock(WindowRecord record, Error error, Time signal_now);
    [[nodiscard]] plan::DesiredState desired(SiteRecord const& record,
                                             StopReason stop_reason) const;
    /// Returns false if the poller has begun to stop, or a person has paused the site, since
    /// `submission` was decided.
    [[nodiscard]] bool is_still_wanted(plan::Action const& submission) const;
    [[nodiscard]] StateStore::Durability durability(bool has_new_samples, Time now);
    /// Once a day and after the end of the run, asks the cluster's accounting for the site's jobs,
    /// and logs the answer.
    [[nodiscard]] Result<void> ask_accounting(Time now);
    /// Adds to `listed` the jobs of `known` that the launcher no longer lists, if something else
    /// says how they ended: the launcher's record of past jobs, or the trainer's own events. Fails
    /// with the launcher's error if it may still say later how a job ended. `known` then says since
    /// when that job is missing.
    [[nodiscard]] Result<void> add_forgotten(plan::SiteState& known, std::vector<plan::Job>& listed,
                                             Time now);
    [[nodiscard]] TrainerRecord trainer_of(plan::Submission const& job) const;
    /// Returns when the site's own logs last show that the job lived.
    [[nodiscard]] std::optional<Time> last_sign_of(plan::Submission const& job,
                                                   TrainerRecord const& trainer) const;
    [[nodiscard]] std::optional<OtherTrainer> other_trainer(plan::SiteState const& known,
                                                            std::vector<plan::Job> const& listed,
                                                            Time now) const;
    /// Adds to each ended job of `listed` that is in `known`: the cause of its failure, or whether
    /// it stopped on request.
    void add_causes(plan::SiteState const& known, std::vector<plan::Job>& listed, Time now);
    /// Returns who cancelled a job, if the launcher's records say so.
    [[nodiscard]] std::string canceller_of(plan::TrackedJob const& tracked, Time now);
    [[nodiscard]] Result<void> store_observation(JobObservation observation, Time now,
                                                 bool dry_run);
    [[nodiscard]] Result<void> carry_out(plan::Action const& action, Time signal_now);
    [[nodiscard]] plan::Outcome launch(plan::Action const& action);
    [[nodiscard]] Result<void> store_intent(plan::Action const& action);
    [[nodiscard]] Result<void> store_outcome(plan::Action const& action,
                                             plan::Outcome const& outcome);
    void set_status(SignalStatus status);
    void set_status(JobStatus status);
    void log_change(std::optional<Error> const& before, std::optional<Error> const& now,
                    char const* source) const;

    SiteParts parts_;
    StateStore& store_;
    Log log_;
    PermissionWriter permission_;
    std::optional<Time> last_saved_;  ///< when evaluate() last saved the state; real time
    mutable std::mutex mutex_;        ///< guards the four members below
    PollFindings findings_;
    bool skips_grace_{false};
    std::string clock_wait_;  ///< why a replay cannot evaluate its window; usually empty
    StopReason stop_reason_{StopReason::none};  ///< why all jobs should stop
};

}  // namespace curtail::poll
