// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "launch/command.hpp"
#include "launch/job_spec.hpp"
#include "launch/launcher.hpp"

namespace curtail::launch {

/// Controls jobs with the commands sbatch, squeue and scancel of Slurm 21.08 or newer. Each command
/// runs with the site's SLURM_CONF, and at most for the site's command deadline.
///
/// Jobs have the option `--dependency=singleton`: if the poller submits two jobs by mistake, Slurm
/// runs one after the other. The jobs' name contains the run, site and folder id (job_name()), so
/// they never wait for another run's job. Of the poller's environment, a job receives only the
/// variables in an explicit list.
class SlurmLauncher final : public Launcher {
  public:
    explicit SlurmLauncher(JobSpec spec) : spec_(std::move(spec)) {}
    [[nodiscard]] Result<plan::JobId> submit(WindowId const& window,
                                             plan::IntentId const& intent) override;
    [[nodiscard]] Result<std::vector<plan::Job>> jobs() override;
    [[nodiscard]] Result<void> drain(plan::JobId const& job) override;
    [[nodiscard]] Result<void> cancel(plan::JobId const& job, bool only_pending) override;

  private:
    [[nodiscard]] Command make_command(std::vector<std::string> arguments) const;
    [[nodiscard]] Result<Finished> run(std::vector<std::string> arguments) const;
    [[nodiscard]] std::vector<std::string> sbatch_arguments(Comment const& comment) const;
    [[nodiscard]] Result<void> scancel(std::vector<std::string> options,
                                       plan::JobId const& job) const;
    JobSpec spec_;
};

/// Returns whether `errors`, the stderr of a Slurm command, means that the controller did not
/// answer. Otherwise the controller refused the request.
[[nodiscard]] bool means_no_answer(std::string_view errors);

}  // namespace curtail::launch
