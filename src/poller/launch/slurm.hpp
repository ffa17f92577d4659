// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/process/command.hpp"
#include "poller/launch/job_spec.hpp"
#include "poller/launch/launcher.hpp"
#include "poller/launch/marked_output.hpp"

namespace curtail::launch {

/// Controls jobs with the commands sbatch, squeue, scancel, scontrol and sacct of Slurm 21.08 or
/// newer. Each command runs with the site's SLURM_CONF, and at most for the site's command
/// deadline.
///
/// Jobs have the option `--dependency=singleton`: if the poller submits two jobs by mistake, Slurm
/// runs one after the other. `singleton` concerns only jobs of the same name. The name contains
/// run, site and folder id (job_name()), so no job waits for a job of another run.
///
/// In a federation, sbatch would offer a job to every member, which may be in another grid region.
/// So each submission first asks scontrol for a federation. If there is one, sbatch has the option
/// `--clusters` with the site's own cluster. squeue lists only the jobs of this cluster.
///
/// A job receives plain_environment() and the variables SLURM_CONF, CURTAIL_BUILD, CURTAIL_PROLOGUE
/// and CURTAIL_INTENT. It receives no other variable of the poller's environment, and none of the
/// poller's resource limits.
class SlurmLauncher final : public Launcher {
  public:
    explicit SlurmLauncher(JobSpec spec) : spec_(std::move(spec)) {}
    [[nodiscard]] Result<plan::JobId> submit(WindowId const& window,
                                             plan::IntentId const& intent) override;
    [[nodiscard]] Result<std::vector<plan::Job>> jobs() override;
    /// Asks sacct for the accounting record, and then for the record of job completion. Without
    /// sacct, or if it says that one of the two is disabled, that one has no record. Fails with
    /// `temporary` if sacct gave no answer that counts, and no record was found.
    [[nodiscard]] Result<PastJob> past_job(MissingJob const& missing) override;
    [[nodiscard]] Result<std::optional<AccountedJobs>> accounted_jobs(Time since) override;
    [[nodiscard]] std::filesystem::path log_file(plan::JobId const& job) const override;
    [[nodiscard]] Result<void> drain(plan::JobId const& job) override;
    [[nodiscard]] Result<void> cancel(plan::JobId const& job, bool only_pending) override;

  private:
    [[nodiscard]] process::CommandSpec make_command(std::vector<std::string> arguments,
                                                    plan::IntentId const& intent) const;
    [[nodiscard]] Result<process::CommandResult> run(std::vector<std::string> arguments,
                                                     plan::IntentId const& intent = {}) const;
    /// Returns the name of the site's cluster if the cluster is a member of a federation. Returns
    /// an empty optional if it is not. Fails with `temporary` if scontrol gave no answer that
    /// counts, with `unavailable` if there is no scontrol, and with `data` if its answer does not
    /// parse.
    [[nodiscard]] Result<std::optional<std::string>> federated_cluster() const;
    /// Returns what sacct printed about a job with `option`, which names the source of its records.
    /// Returns an empty optional if the cluster has no such source.
    [[nodiscard]] Result<std::optional<std::string>> ask_sacct(std::string const& option,
                                                               plan::JobId const& job,
                                                               Marks const& marks) const;
    [[nodiscard]] std::vector<std::string> sbatch_arguments(
        Comment const& comment, std::optional<std::string> const& cluster) const;
    [[nodiscard]] Result<void> scancel(std::vector<std::string> options,
                                       plan::JobId const& job) const;
    JobSpec spec_;
};

/// Returns whether `errors`, the stderr of a Slurm command, says that the controller did not
/// answer.
[[nodiscard]] bool means_no_answer(std::string_view errors);

}  // namespace curtail::launch
