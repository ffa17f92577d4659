// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "poller/poll/watch.hpp"
#include "run/runlog/event.hpp"
#include "support/temporary_folder.hpp"

/// A run of two sites with a fake signal and a fake Slurm.
namespace curtail::poll {

using State = plan::Job::State;

inline Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }

/// The state of a site's Slurm. It outlives the launcher, as Slurm outlives the poller.
struct FakeSlurm {
    std::mutex mutex;
    std::vector<plan::Job> jobs;
    std::vector<std::string> calls;
    int most_running{0};
    bool answers{true};
    bool ignores_drain{false};
    bool loses_drains{false};
    bool refuses{false};
    std::function<void()> before_list;
    std::filesystem::path logs;
    // For a job that is no longer listed.
    Result<std::optional<plan::Job>> past_job{std::nullopt};
    Result<std::optional<launch::Launcher::AccountedJobs>> accounted{std::nullopt};

    std::vector<std::string> called()
    {
        std::lock_guard const guard(mutex);
        return calls;
    }
};

class FakeLauncher final : public launch::Launcher {
  public:
    explicit FakeLauncher(FakeSlurm& slurm) : slurm_(slurm) {}
    Result<plan::JobId> submit(WindowId const& window, plan::IntentId const& intent) override
    {
        std::lock_guard const guard(slurm_.mutex);
        if (!slurm_.answers) return no_answer();
        if (slurm_.refuses)
            return fail(ExitCode::unavailable, "cannot submit", "Invalid partition name specified");
        slurm_.calls.push_back("submit");
        plan::JobId const id{std::to_string(slurm_.jobs.size() + 1)};
        slurm_.jobs.push_back(
            {id, window, intent, State::running, "RUNNING", {}, SystemClock{}.now(), {}});
        auto const running =
            std::count_if(slurm_.jobs.begin(), slurm_.jobs.end(),
                          [](auto const& job) { return job.state == State::running; });
        slurm_.most_running = std::max(slurm_.most_running, static_cast<int>(running));
        return id;
    }
    Result<std::vector<plan::Job>> jobs() override
    {
        if (slurm_.before_list) slurm_.before_list();
        std::lock_guard const guard(slurm_.mutex);
        if (!slurm_.answers) return no_answer();
        return slurm_.jobs;
    }
    Result<launch::PastJob> past_job(launch::MissingJob const&) override
    {
        std::lock_guard const guard(slurm_.mutex);
        if (!slurm_.past_job) return tl::unexpected(slurm_.past_job.error());
        return launch::PastJob{*slurm_.past_job, {}};
    }
    Result<std::optional<AccountedJobs>> accounted_jobs(Time) override
    {
        std::lock_guard const guard(slurm_.mutex);
        return slurm_.accounted;
    }
    [[nodiscard]] std::filesystem::path log_file(plan::JobId const& job) const override
    {
        return slurm_.logs / ("job-" + job.value + ".log");
    }
    Result<void> drain(plan::JobId const& job) override
    {
        std::lock_guard const guard(slurm_.mutex);
        slurm_.calls.push_back("drain " + job.value);
        if (slurm_.loses_drains) return no_answer();
        if (!slurm_.ignores_drain) end(job, "COMPLETED");
        return {};
    }
    Result<void> cancel(plan::JobId const& job, bool) override
    {
        std::lock_guard const guard(slurm_.mutex);
        slurm_.calls.push_back("cancel " + job.value);
        end(job, "CANCELLED");
        return {};
    }

  private:
    static tl::unexpected<Error> no_answer()
    {
        return fail(ExitCode::temporary, "cannot list jobs", "Unable to contact slurm controller");
    }
    void end(plan::JobId const& id, char const* word)
    {
        for (auto& job : slurm_.jobs)
            if (job.id == id) {
                job.state = State::ended;
                job.launcher_state = word;
                job.exit_code = 0;
                job.end = job.launcher_state == "COMPLETED" ? plan::Job::End::clean
                                                            : plan::Job::End::failed;
                job.ended = SystemClock{}.now();
            }
    }
    FakeSlurm& slurm_;
};

class FakeProvider final : public signals::Provider {
  public:
    explicit FakeProvider(std::vector<samples::Sample> samples) : samples_(std::move(samples)) {}
    signals::Answer samples(RegionId const&, Time from, Time to) override
    {
        signals::Answer answer;
        for (auto const& sample : samples_)
            if (sample.time >= from && sample.time <= to) answer.samples.push_back(sample);
        return answer;
    }

  private:
    std::vector<samples::Sample> samples_;
};

class FixedClock final : public Clock {
  public:
    explicit FixedClock(Time now) : now_(now) {}
    [[nodiscard]] Time now() const override { return now_; }

  private:
    Time now_;
};

class Poll : public testing::Test {
  protected:
    Poll()
    {
        run_.run = {"demo"};
        run_.file = "/run.json";
        run_.folder = folder_.path();
        for (auto const* name : {"A", "B"}) {
            config::Site site;
            site.site = {name};
            site.launch.grace = Millis(200);
            run_.sites.push_back(site);
        }
    }
    /// Both sites have the same samples: one every 300 s, with the values of `intensities` in
    /// order.
    PollContext make_context(std::shared_ptr<Clock const> clock,
                             std::vector<double> const& intensities)
    {
        std::vector<samples::Sample> samples;
        for (std::size_t i = 0; i < intensities.size(); ++i)
            samples.push_back({{at(static_cast<int>(300 * i)), GramsPerKwh{intensities[i]}},
                               "fake",
                               samples::SignalType::marginal,
                               {}});
        PollContext made{run_, {}, std::move(clock), {}, Log()};
        plan::JobLimits limits;
        limits.grace = Millis(200);
        for (auto const& site : run_.sites)
            made.sites.push_back(
                {site, run_.run, run_.site_folder(site.site), run_.folder / "complete.json",
                 std::make_unique<FakeProvider>(samples),
                 std::make_unique<FakeLauncher>(slurm_[site.site.value]), limits, at(0)});
        return made;
    }
    PollResult once(int second, std::vector<double> const& intensities, bool dry = false)
    {
        auto result =
            poll_once(make_context(std::make_shared<FixedClock>(at(second)), intensities), dry);
        EXPECT_TRUE(result) << (result ? "" : result.error().message());
        return result.value_or(PollResult{});
    }
    std::vector<std::string> event_types(std::string const& site)
    {
        std::vector<std::string> types;
        for (auto const& event : events(site)) types.push_back(event.type);
        return types;
    }
    std::vector<runlog::Event> events(std::string const& site)
    {
        return runlog::read_events(run_.poller_folder({site}) / "events.jsonl").value().events;
    }

    test::TemporaryFolder folder_;
    config::Run run_;
    std::map<std::string, FakeSlurm> slurm_;
};

/// Options for a watch() that polls every few milliseconds.
inline WatchOptions quick()
{
    WatchOptions options;
    options.drain_on_exit = true;
    options.intervals.windows = Millis(5);
    options.intervals.jobs = Millis(10);
    options.patience = Millis(20'000);
    return options;
}

}  // namespace curtail::poll
