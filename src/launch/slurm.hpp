// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "launch/command.hpp"
#include "launch/launcher.hpp"
#include "launch/order.hpp"

namespace curtail::launch {

/// Slurm by its command line: sbatch, squeue, scancel, each with the site's deadline and
/// SLURM_CONF.
///
/// Jobs carry `--dependency=singleton`: should two be submitted after all, Slurm runs them one
/// after the other. Their name is that of run, site and folder, so that they wait for nobody
/// else's. The job's environment is a written list; nothing of the poller's own travels along.
class SlurmLauncher final : public Launcher {
  public:
    explicit SlurmLauncher(JobOrder order) : order_(std::move(order)) {}
    [[nodiscard]] Result<plan::JobId> submit(WindowId const& window,
                                             plan::IntentId const& intent) override;
    [[nodiscard]] Result<std::vector<plan::Job>> jobs() override;
    [[nodiscard]] Result<void> drain(plan::JobId const& job) override;
    [[nodiscard]] Result<void> cancel(plan::JobId const& job, bool only_pending) override;

  private:
    [[nodiscard]] Result<Finished> run(std::vector<std::string> arguments) const;
    [[nodiscard]] Result<void> scancel(std::vector<std::string> options,
                                       plan::JobId const& job) const;
    JobOrder order_;
};

/// Parses what `squeue -O` prints with squeue_format. Jobs whose comment names another run, site or
/// folder are left out, and what is not of this form; code `data` if the text does not end with the
/// end of a job.
[[nodiscard]] Result<std::vector<plan::Job>> parse_squeue(JobOrder const& order,
                                                          std::string_view text);
extern char const* const squeue_format;
/// A wait status as squeue shows it: `0`, `256` (exit code 1), `9` (signal 9).
[[nodiscard]] int exit_code_of(int wait_status);
/// Whether a client's words mean that there was no answer, rather than the answer no.
[[nodiscard]] bool is_silence(std::string_view errors);

}  // namespace curtail::launch
