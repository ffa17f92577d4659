// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "config/run.hpp"
#include "plan/job.hpp"

namespace curtail::launch {

/// Starts, shows and stops the jobs of one site of one run. Calls block, each at most for the
/// site's command deadline; one thread at a time.
///
/// Errors: `temporary` means that nobody knows: there was no answer, the act may have happened. Any
/// other code: it certainly did not.
class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Submits the site's job script with the run's file and the site's name. The job carries
    /// window and intent with it.
    [[nodiscard]] virtual Result<plan::JobId> submit(WindowId const& window,
                                                     plan::IntentId const& intent) = 0;
    /// All jobs of this run, site and folder, those that ended lately too, the oldest first; and
    /// those that are called like them without saying whose they are (their intent is empty). Only
    /// looks: nothing changes.
    [[nodiscard]] virtual Result<std::vector<plan::Job>> jobs() = 0;
    /// Asks a job to finish its step, contribute and exit. Of a job that is gone: done.
    [[nodiscard]] virtual Result<void> drain(plan::JobId const& job) = 0;
    /// Ends a job by force; with `only_pending` only if it has not started. Of a job that is gone:
    /// done.
    [[nodiscard]] virtual Result<void> cancel(plan::JobId const& job, bool only_pending) = 0;
};

/// The launcher that the site's file asks for. `mark` is the run's (run_mark()), `build` the folder
/// with bin/ that the job is told as CURTAIL_BUILD.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(config::Run const& run,
                                                      config::Site const& site,
                                                      std::string const& mark,
                                                      std::filesystem::path const& build);

}  // namespace curtail::launch
