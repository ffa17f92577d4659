// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/checked_launcher.hpp"

#include <mutex>
#include <utility>

#include "programs/poll/trusted_files.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs {
namespace {

class CheckedLauncher : public launch::Launcher {
  public:
    CheckedLauncher(config::Run const& run, config::Site const& site, std::string const& folder_id,
                    std::filesystem::path build)
        : run_(run),
          site_(site),
          build_(std::move(build)),
          launcher_(launch::make_launcher(run, site, folder_id, build_))
    {
    }
    Result<plan::JobId> submit(WindowId const& window, plan::IntentId const& intent) override
    {
        // Each site has a thread, and the process has a single place in the lists of accounts.
        static std::mutex mutex;
        std::lock_guard const lock(mutex);
        if (auto checked = check_trusted_files(run_, {&site_}, build_); !checked)
            return tl::unexpected(checked.error());
        if (auto made = config::make_job_logs(run_, site_.site); !made)
            return tl::unexpected(made.error());
        return launcher_->submit(window, intent);
    }
    Result<std::vector<plan::Job>> jobs() override { return launcher_->jobs(); }
    Result<launch::PastJob> past_job(launch::MissingJob const& missing) override
    {
        return launcher_->past_job(missing);
    }
    Result<std::optional<AccountedJobs>> accounted_jobs(Time since) override
    {
        return launcher_->accounted_jobs(since);
    }
    std::filesystem::path log_file(plan::JobId const& job) const override
    {
        return launcher_->log_file(job);
    }
    Result<void> drain(plan::JobId const& job) override { return launcher_->drain(job); }
    Result<void> cancel(plan::JobId const& job, bool only_pending) override
    {
        return launcher_->cancel(job, only_pending);
    }

  private:
    config::Run const& run_;
    config::Site const& site_;
    std::filesystem::path build_;
    std::unique_ptr<Launcher> launcher_;
};

}  // namespace

std::unique_ptr<launch::Launcher> make_checked_launcher(config::Run const& run,
                                                        config::Site const& site,
                                                        std::string const& folder_id,
                                                        std::filesystem::path const& build)
{
    return std::make_unique<CheckedLauncher>(run, site, folder_id, build);
}

}  // namespace curtail::programs
