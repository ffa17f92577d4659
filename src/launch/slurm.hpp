// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "launch/command.hpp"
#include "launch/job_spec.hpp"
#include "launch/launcher.hpp"

namespace curtail::launch {

/// Controls Slurm 21.08 or newer by its commands sbatch, squeue and scancel, each with the site's
/// deadline and SLURM_CONF.
///
/// Jobs have `--dependency=singleton`: should the poller submit two, Slurm runs one after the
/// other. Their name contains run, site and folder, so they wait for no other run's job. A job's
/// environment is an explicit list, which contains no other variable of the poller.
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

/// Whether a client's stderr means that the controller did not answer, rather than that it refused.
[[nodiscard]] bool means_no_answer(std::string_view errors);

}  // namespace curtail::launch
