// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "launch/launcher.hpp"
#include "launch/order.hpp"
#include "launch/process.hpp"

namespace curtail::launch {

/// Jobs as processes of this machine, for laptops and tests: the same job script, in a session of
/// its own, which outlives the poller.
///
/// Each job has a record `<site folder>/jobs/<intent>.json` from before its script starts, so that
/// a poller killed at any moment finds it again, and `<intent>.exit` with its exit code from a
/// small keeper process that waits for it. There is no queue and no time limit. A record of another
/// host says nothing about processes of this one: until there is an exit code such a job counts as
/// ending.
class LocalLauncher final : public Launcher {
  public:
    explicit LocalLauncher(JobOrder order) : order_(std::move(order)) {}
    /// The job's name is its intent's: submitting an intent twice starts one job.
    [[nodiscard]] Result<plan::JobId> submit(WindowId const& window,
                                             plan::IntentId const& intent) override;
    [[nodiscard]] Result<std::vector<plan::Job>> jobs() override;
    [[nodiscard]] Result<void> drain(plan::JobId const& job) override;
    /// TERM to all its processes, also to those that its script left behind with CURTAIL_JOB in
    /// their environment; a call 4 s after the first one or later sends KILL.
    [[nodiscard]] Result<void> cancel(plan::JobId const& job, bool only_pending) override;

  private:
    struct Record {
        Comment comment;
        std::string host;
        ProcessIdentity script;
        ProcessIdentity keeper;
        Time started;
    };
    [[nodiscard]] std::filesystem::path folder() const { return order_.folder / "jobs"; }
    [[nodiscard]] std::filesystem::path file(plan::JobId const& job, char const* ending) const
    {
        return folder() / (job.value + ending);
    }
    [[nodiscard]] Result<std::optional<Record>> read_record(plan::JobId const& job) const;
    /// What the process table says is made when the first job needs it.
    [[nodiscard]] plan::Job look_at(plan::JobId const& job, Record const& record,
                                    std::optional<Sessions>& sessions) const;
    JobOrder order_;
};

}  // namespace curtail::launch
