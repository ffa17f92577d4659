// SPDX-License-Identifier: Apache-2.0
// Failures around a poll: launchers, disks, clocks and users.
#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "poller/poll/fixture.hpp"
#include "poller/poll/status.hpp"
#include "run/runlog/trainer_events.hpp"
#include "support/eventually.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Failures : public Poll {};

TEST_F(Failures, SiteWithoutAnswerDoesNotDelayTheOthers)
{
    slurm_["A"].answers = false;
    bool in_time = false;
    slurm_["A"].before_list = [&] {
        in_time = test::eventually([&] { return !slurm_["B"].called().empty(); });
    };
    slurm_["B"];
    auto const result = once(0, {50});
    EXPECT_TRUE(in_time) << "B is polled while A is pending";
    EXPECT_THAT(slurm_["B"].called(), ElementsAre("submit"));
    EXPECT_THAT(explain(result.sites, false),
                HasSubstr("problem cannot list jobs: Unable to contact slurm controller"));
    EXPECT_EQ(result.error()->code, ExitCode::temporary);
    EXPECT_EQ(result.error()->message(),
              "errors at A: cannot list jobs: Unable to contact slurm controller");
}

TEST_F(Failures, AnExceptionAtOneSiteIsAnErrorAndDoesNotDelayTheOthers)
{
    slurm_["A"].before_list = [] { throw std::bad_alloc(); };
    auto const result = poll_once(make_context(std::make_shared<FixedClock>(at(0)), {50}), false);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ExitCode::os_error);
    EXPECT_THAT(result.error().message(), HasSubstr("site A: "));
    EXPECT_THAT(slurm_["B"].called(), ElementsAre("submit"));
    slurm_["A"].before_list = nullptr;
    once(60, {50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
    EXPECT_THAT(slurm_["B"].called(), ElementsAre("submit"));
}

TEST_F(Failures, RefusedSubmissionPrecedesTemporaryErrors)
{
    slurm_["A"].answers = false;
    slurm_["B"].refuses = true;
    auto const error = once(0, {50}).error();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ExitCode::unavailable);
    EXPECT_EQ(error->message(), "errors at A, B: cannot submit: Invalid partition name specified");
    slurm_["A"].answers = true;
    slurm_["B"].refuses = false;
    auto const waiting = once(60, {50}).error();
    ASSERT_TRUE(waiting);
    EXPECT_THAT(waiting->message(), HasSubstr("errors at B: submission failed ("));
    EXPECT_THAT(waiting->message(), HasSubstr("next try in"));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
}

TEST_F(Failures, FailedJobIsLoggedAndAWindowThatWaitsForTheNextTryIsAnError)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs.at(0);
        job.state = State::ended;
        job.launcher_state = "FAILED";
        job.exit_code = 3;
        slurm_["A"].logs = folder_.path();
    }
    ASSERT_TRUE(write_file(folder_ / "job-1.log", "curtail-train error: no such shard\n"));
    std::mutex mutex;
    std::vector<std::string> lines;
    auto context = make_context(std::make_shared<FixedClock>(at(60)), {50});
    context.log = Log([&](Level, std::string_view text) {
        std::lock_guard const guard(mutex);
        lines.emplace_back(text);
    });
    auto const result = poll_once(std::move(context), false).value();
    EXPECT_THAT(lines, testing::Contains(
                           "A: job 1 ended at once (FAILED, exit code 3): no such shard (log: " +
                           (folder_ / "job-1.log").string() +
                           "); next try in 10.0 s (consecutive failures: 1)"));
    ASSERT_TRUE(result.error());
    EXPECT_EQ(result.error()->code, ExitCode::unavailable);
    EXPECT_THAT(result.error()->message(),
                HasSubstr("errors at A: job 1 ended at once (FAILED, exit code 3)"));
    auto const closed = once(900, {50, 500, 500, 500});
    EXPECT_FALSE(closed.error()) << "no job is desired";
}

TEST_F(Failures, AForgottenJobEndedAsItsTrainerRecorded)
{
    using Exit = runlog::TrainerExit;
    struct Case {
        Exit exit;
        std::size_t submissions;
        std::string reason;
    };
    for (auto const& [exit, submissions, reason] :
         {Case{{ExitCode::ok, "1", "drain"}, 2, ""},
          {{ExitCode::data, "1", ""}, 1, "(GONE, exit code 65)"},
          {{ExitCode::ok, "1", "terminate"}, 1, "was cancelled by a person"}}) {
        std::filesystem::remove_all(run_.folder / "sites");
        std::filesystem::remove_all(run_.poller_folder());
        slurm_["A"].jobs.clear();
        slurm_["A"].calls.clear();
        once(0, {50});
        slurm_["A"].jobs.clear();
        runlog::EventLog const events(run_.site_folder({"A"}) / "events.jsonl");
        ASSERT_TRUE(events.append(runlog::to_event(exit, SystemClock{}.now(), "A")));
        auto const result = once(60, {50});
        EXPECT_THAT(slurm_["A"].called(), testing::SizeIs(submissions)) << exit.cause;
        EXPECT_THAT(explain(result.sites, false), HasSubstr(reason));
    }
}

TEST_F(Failures, WithoutAnAnswerAboutAMissingJobNothingHappensToTheSitesJobs)
{
    once(0, {50});
    auto const intent = slurm_["A"].jobs.at(0).intent;
    slurm_["A"].jobs.clear();
    slurm_["A"].past_job = fail(ExitCode::temporary, "cannot ask sacct", "no answer within 10 s");
    for (int const second : {60, 120}) {
        auto const error = once(second, {50}).error();
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code, ExitCode::temporary);
        EXPECT_EQ(error->message(), "errors at A: cannot ask sacct: no answer within 10 s");
        EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
        EXPECT_THAT(event_types("A"), testing::Not(testing::Contains("job-ended")));
    }
    // The answer arrives: a person had cancelled the job.
    plan::Job cancelled;
    cancelled.id = {"1"};
    cancelled.state = State::ended;
    cancelled.launcher_state = "CANCELLED";
    cancelled.end = plan::Job::End::cancelled;
    cancelled.cancelled_by = "anna";
    cancelled.intent = intent;
    slurm_["A"].past_job = std::optional(cancelled);
    auto const result = once(180, {50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
    EXPECT_THAT(explain(result.sites, false), HasSubstr("job 1 was cancelled by anna"));
}

TEST_F(Failures, AJobThatIsMissingForLongCountsAsGone)
{
    once(0, {50});
    slurm_["A"].jobs.clear();
    slurm_["A"].past_job = fail(ExitCode::temporary, "cannot ask sacct", "no answer within 10 s");
    once(60, {50});
    std::mutex mutex;
    std::vector<std::string> lines;
    auto context = make_context(std::make_shared<FixedClock>(at(120)), {50});
    context.sites.at(0).limits.missing_time = Millis(0);
    context.log = Log([&](Level, std::string_view text) {
        std::lock_guard const guard(mutex);
        lines.emplace_back(text);
    });
    EXPECT_TRUE(poll_once(std::move(context), false));
    EXPECT_THAT(event_types("A"), testing::Contains("job-ended"));
    EXPECT_THAT(lines,
                testing::Contains(testing::AllOf(
                    HasSubstr("A: job 1 has not been listed for "), HasSubstr("counts as gone"),
                    HasSubstr("cannot ask sacct: no answer within 10 s"))));
}

// Makes every write to a file fail while it exists, as on a full disk.
class FullDisk {
  public:
    FullDisk()
    {
        ::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const none{0, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
    FullDisk(FullDisk const&) = delete;
    FullDisk& operator=(FullDisk const&) = delete;

  private:
    rlimit before_{};
};

TEST_F(Failures, FullDiskPreventsNoDrainAndStartsNoJob)
{
    once(0, {50});
    slurm_["A"].jobs[0].started = SystemClock{}.now() - Seconds(60);
    {
        FullDisk const full;
        auto const result = poll_once(
            make_context(std::make_shared<FixedClock>(at(900)), {50, 500, 500, 500}), false);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ExitCode::io);
        EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
        EXPECT_FALSE(poll_once(
            make_context(std::make_shared<FixedClock>(at(1200)), {50, 500, 500, 500, 50}), false));
        EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"))
            << "without a journal entry";
    }
    once(1200, {50, 500, 500, 500, 50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1", "submit"));
    auto const text = read_file(run_.poller_folder({"A"}) / "signals.jsonl").value();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
}

TEST_F(Failures, FullDiskPreventsNoDrainOfAWatch)
{
    StopRequest stop;
    auto options = quick();
    Result<PollResult> result = PollResult{};
    slurm_["A"], slurm_["B"];
    auto context = make_context(std::make_shared<FixedClock>(at(0)), {50});
    std::jthread poller([&] { result = watch(std::move(context), options, stop); });
    ASSERT_TRUE(test::eventually(
        [&] { return slurm_["A"].called().size() == 1 && slurm_["B"].called().size() == 1; }));
    {
        FullDisk const full;
        stop.raise();
        poller.join();
    }
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ExitCode::io);
}

TEST_F(Failures, ClockSetBackDoesNotFreezeALiveWindow)
{
    auto const live = [&](int second, std::vector<double> const& intensities) {
        auto context = make_context(std::make_shared<FixedClock>(at(second)), intensities);
        for (auto& parts : context.sites) parts.trace_start.reset();
        return poll_once(std::move(context), false).value();
    };
    live(7200, std::vector<double>(25, 50));  // an hour ahead
    auto const back = live(3600, {500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500});
    ASSERT_TRUE(back.error());
    EXPECT_THAT(back.error()->message(), HasSubstr("the clock was set back"));
    EXPECT_EQ(back.sites[0].signal.phase, windows::Phase::closing);
    EXPECT_EQ(live(4200, std::vector<double>(15, 500)).sites[0].signal.phase,
              windows::Phase::closed);
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
}

TEST_F(Failures, RemovedSiteWithAJobIsAnError)
{
    once(0, {50});
    run_.sites.pop_back();
    auto const result = once(60, {50});
    ASSERT_TRUE(result.error());
    EXPECT_EQ(result.error()->code, ExitCode::config);
    EXPECT_EQ(result.error()->message(),
              "site B is no longer in run demo: no poller manages job 1; put it back into "
              "`sites` until its job has ended");
}

}  // namespace
}  // namespace curtail::poll
