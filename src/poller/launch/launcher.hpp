// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "poller/plan/job.hpp"
#include "run/config/run.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::launch {

/// A job that the launcher no longer lists, and what is known about it.
struct MissingJob {
    plan::Submission job;
    std::optional<Time> started{};  ///< by the launcher's clock; empty if it never ran
    /// The last sign of life in the site's own logs. An end before this moment is no end.
    std::optional<Time> last_sign{};
    Time now;  ///< real time
};

/// How a missing job ended, and what the launcher's records said that cannot be.
struct PastJob {
    std::optional<plan::Job> job{};     ///< empty if no record can be believed
    std::vector<std::string> doubts{};  ///< sentences for the user
};

/// Starts, lists and stops the jobs of one site of one run. With Slurm, each function runs one
/// command and waits for the command's answer, at most for
/// config::LaunchSettings::command_deadline. Not thread-safe.
///
/// Each function fails with `temporary` if no answer came: the call may then have taken effect. Any
/// other error means that the call certainly had no effect.
class Launcher {
  public:
    using AccountedJobs = std::vector<runlog::Accounting::Job>;
    virtual ~Launcher() = default;
    /// Submits the site's job script, and returns the new job's id. The script's arguments are the
    /// run's file and the site's name. `window` and `intent` are stored with the job.
    [[nodiscard]] virtual Result<plan::JobId> submit(WindowId const& window,
                                                     plan::IntentId const& intent) = 0;
    /// Returns all jobs of this run, site and run folder, the oldest first. Includes ended jobs;
    /// Slurm forgets them after its MinJobAge. Also returns a job whose name is job_name() and
    /// whose comment is unreadable. The intent of such a job is empty.
    [[nodiscard]] virtual Result<std::vector<plan::Job>> jobs() = 0;
    /// Returns how a job ended that jobs() no longer lists. Fails with `temporary` if the launcher
    /// could not be asked, and with `data` if its records do not parse.
    [[nodiscard]] virtual Result<PastJob> past_job(MissingJob const& missing) = 0;
    /// Returns the jobs of this run, site and run folder that the cluster's accounting knows and
    /// that ran at or after `since`. Returns an empty optional if the launcher has no accounting.
    /// Fails with `unavailable` if the cluster has none.
    [[nodiscard]] virtual Result<std::optional<AccountedJobs>> accounted_jobs(Time since) = 0;
    /// Returns the path of a job's log.
    [[nodiscard]] virtual std::filesystem::path log_file(plan::JobId const& job) const = 0;
    /// Asks a job to finish its step, contribute and exit. A job that has already ended is no
    /// error.
    [[nodiscard]] virtual Result<void> drain(plan::JobId const& job) = 0;
    /// Terminates a job. With `only_pending`, terminates the job only if it has not started. A job
    /// that has already ended is no error.
    [[nodiscard]] virtual Result<void> cancel(plan::JobId const& job, bool only_pending) = 0;
};

/// Makes the launcher that the site's file selects. `folder_id` is the result of run_folder_id().
/// `build` is the folder that contains bin/. Jobs receive this folder as CURTAIL_BUILD.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(config::Run const& run,
                                                      config::Site const& site,
                                                      std::string const& folder_id,
                                                      std::filesystem::path const& build);

}  // namespace curtail::launch
