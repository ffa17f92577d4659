// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/process/identity.hpp"
#include "poller/launch/job_spec.hpp"
#include "poller/launch/launcher.hpp"

namespace curtail::launch {

/// Runs jobs as processes of this machine, for laptops and tests. A job runs the same job script as
/// under Slurm, in a session of its own, and so outlives the poller. There is no queue and no time
/// limit.
///
/// The file `jobs/<intent>.json` in the site's folder records a job. It is written before the job's
/// script starts. So the next poller finds the job even if this poller was killed at once. A small
/// supervisor process waits for the script and writes the script's exit code to `<intent>.exit`.
///
/// The launcher cannot check the processes of a job whose record was written on another host. Until
/// the exit code of that job is recorded, the job counts as ending.
class LocalLauncher final : public Launcher {
  public:
    explicit LocalLauncher(JobSpec spec, process::Kernel kernel = {})
        : spec_(std::move(spec)), kernel_(kernel)
    {
    }
    /// Submits a job whose id is `intent`. Submitting the same intent twice starts only one job.
    [[nodiscard]] Result<plan::JobId> submit(WindowId const& window,
                                             plan::IntentId const& intent) override;
    [[nodiscard]] Result<std::vector<plan::Job>> jobs() override;
    /// Returns no job: jobs() lists all jobs that are recorded.
    [[nodiscard]] Result<PastJob> past_job(MissingJob const&) override { return PastJob{}; }
    [[nodiscard]] Result<std::optional<AccountedJobs>> accounted_jobs(Time) override
    {
        return std::optional<AccountedJobs>{};
    }
    [[nodiscard]] std::filesystem::path log_file(plan::JobId const& job) const override
    {
        return spec_.logs / ("job-" + job.value + ".log");
    }
    [[nodiscard]] Result<void> drain(plan::JobId const& job) override;
    /// Sends TERM to the processes of the job's session as signal_session() does, even if the
    /// script has ended. A call at least 4 s after the first cancel of this job sends KILL instead.
    /// Does nothing if `only_pending` is set, because a local job is never pending.
    [[nodiscard]] Result<void> cancel(plan::JobId const& job, bool only_pending) override;

  private:
    /// The content of a job's record.
    struct Record {
        Comment comment;
        std::string host;
        process::ProcessIdentity script;
        process::ProcessIdentity supervisor;  ///< stored under the name `keeper`
        Time started;
    };
    [[nodiscard]] std::filesystem::path folder() const { return spec_.folder / "jobs"; }
    [[nodiscard]] std::filesystem::path file(plan::JobId const& job, char const* ending) const
    {
        return folder() / (job.value + ending);
    }
    [[nodiscard]] Result<std::optional<Record>> read_record(plan::JobId const& job) const;
    [[nodiscard]] Record parse_record(json::ObjectReader& r) const;
    [[nodiscard]] std::string record_head(Comment const& comment) const;
    /// Determines the job's state from its record, its exit code and its processes. If `sessions`
    /// is needed but still empty, fills it.
    [[nodiscard]] plan::Job inspect(plan::JobId const& job, Record const& record,
                                    std::optional<process::Sessions>& sessions) const;
    [[nodiscard]] bool has_leftovers(plan::JobId const& job, Record const& record,
                                     std::optional<process::Sessions>& sessions) const;
    void set_ending(plan::Job& job, Record const& record) const;
    void set_ended(plan::Job& job, std::optional<std::string> const& exit_code) const;

    JobSpec spec_;
    process::Kernel kernel_;
};

}  // namespace curtail::launch
