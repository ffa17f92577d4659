// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/log.hpp"
#include "launch/launcher.hpp"
#include "poll/job_decisions.hpp"
#include "poll/state_store.hpp"
#include "poll/status.hpp"
#include "poll/window_evaluation.hpp"
#include "signals/provider.hpp"

namespace curtail::poll {

/// `stored` is an error if a change could not be written. The step itself took place all the same:
/// a full disk must not prevent stopping jobs.
struct WindowResult {
    bool phase_changed{false};
    Result<void> stored;
};
struct JobResult {
    bool listed{false};  ///< the launcher answered; otherwise nothing was decided about jobs
    Result<void> stored;
};

/// What one site needs to be polled.
struct SiteParts {
    config::Site const& site;
    std::filesystem::path complete_file;  ///< its existence means that the run needs no more jobs
    std::unique_ptr<signals::Provider> provider;  ///< null: the window is only shown
    std::unique_ptr<launch::Launcher> launcher;
    plan::Rules rules;
    std::optional<Time> trace_start;  ///< of a replay: its first poll evaluates from here on
};

/// Polls one site: reads signals and jobs, and stores and carries out what the pure functions of
/// window_evaluation.hpp and job_decisions.hpp decide. One thread may evaluate the window while
/// another manages the jobs.
class SitePoller {
  public:
    /// `store` must outlive this.
    SitePoller(SiteParts parts, StateStore& store, Log log);

    /// Evaluates the window up to `signal_now`, on the signals' clock.
    [[nodiscard]] WindowResult evaluate(Time signal_now);
    /// Lists the jobs, decides and, unless `dry_run`, carries out the actions. A job is submitted
    /// only if the journal contains the intent.
    [[nodiscard]] JobResult manage_jobs(StopReason stop, bool dry_run);
    /// No job exists or may still appear.
    [[nodiscard]] bool is_idle() const;
    /// From now on cancels jobs that should stop, without waiting for the drain.
    void skip_grace();
    [[nodiscard]] SiteStatus status() const;
    [[nodiscard]] SiteId const& id() const { return parts_.site.site; }

  private:
    [[nodiscard]] bool is_replay() const { return parts_.trace_start.has_value(); }
    [[nodiscard]] plan::Rules rules() const;
    [[nodiscard]] plan::DesiredState desired(WindowRecord const& window, StopReason stop) const;
    [[nodiscard]] Result<void> carry_out(plan::Action const& action);
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
    mutable std::mutex mutex_;  ///< guards what follows
    SiteStatus status_;
    bool skips_grace_{false};
};

}  // namespace curtail::poll
