// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "config/run.hpp"
#include "plan/job.hpp"

namespace curtail::launch {

/// Starts, lists and stops the jobs of one site of one run. Calls block, each at most for the
/// site's command deadline. Not thread-safe.
///
/// Errors: `temporary` means that no answer came, so the call may have taken effect. Any other code
/// means that it certainly did not.
class Launcher {
  public:
    virtual ~Launcher() = default;
    /// Submits the site's job script with the run's file and the site's name. Window and intent
    /// become part of the job.
    [[nodiscard]] virtual Result<plan::JobId> submit(WindowId const& window,
                                                     plan::IntentId const& intent) = 0;
    /// All jobs of this run, site and folder, including recently ended ones, oldest first. Includes
    /// jobs of the same name whose comment is unreadable, with an empty intent. Changes nothing.
    [[nodiscard]] virtual Result<std::vector<plan::Job>> jobs() = 0;
    /// Asks a job to finish its step, contribute and exit. Succeeds if the job has ended.
    [[nodiscard]] virtual Result<void> drain(plan::JobId const& job) = 0;
    /// Terminates a job; with `only_pending` only if it has not started. Succeeds if the job has
    /// ended.
    [[nodiscard]] virtual Result<void> cancel(plan::JobId const& job, bool only_pending) = 0;
};

/// The launcher that the site's file selects. `folder_id` comes from run_folder_id(). `build` is
/// the folder with bin/, which jobs receive as CURTAIL_BUILD.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(config::Run const& run,
                                                      config::Site const& site,
                                                      std::string const& folder_id,
                                                      std::filesystem::path const& build);

}  // namespace curtail::launch
