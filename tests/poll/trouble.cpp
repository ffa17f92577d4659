// SPDX-License-Identifier: Apache-2.0
// What goes wrong around a poll: launchers, disks, clocks and people.
#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "poll/fixture.hpp"
#include "poll/report.hpp"
#include "support/eventually.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Trouble : public Poll {};

TEST_F(Trouble, SiteThatDoesNotAnswerDoesNotKeepTheOthers)
{
    slurm_["A"].answers = false;
    bool in_time = false;
    slurm_["A"].before_list = [&] {
        in_time = test::eventually([&] { return !slurm_["B"].called().empty(); });
    };
    slurm_["B"];
    auto const answer = once(0, {50});
    EXPECT_TRUE(in_time) << "B is looked after while A is waited for";
    EXPECT_THAT(slurm_["B"].called(), ElementsAre("submit"));
    EXPECT_THAT(explain(answer.sites, false),
                HasSubstr("trouble cannot list jobs: Unable to contact slurm controller"));
    EXPECT_EQ(answer.trouble()->code, ExitCode::temporary);
    EXPECT_EQ(answer.trouble()->message(),
              "not all went well at A: cannot list jobs: Unable to contact slurm controller");
}

TEST_F(Trouble, RefusedSubmissionShowsInTheAnswerBeforeWhatPassesByItself)
{
    slurm_["A"].answers = false;
    slurm_["B"].refuses = true;
    auto const trouble = once(0, {50}).trouble();
    ASSERT_TRUE(trouble);
    EXPECT_EQ(trouble->code, ExitCode::unavailable);
    EXPECT_EQ(trouble->message(),
              "not all went well at A, B: cannot submit: Invalid partition name specified");
    slurm_["A"].answers = true;
    slurm_["B"].refuses = false;
    auto const waiting = once(60, {50}).trouble();
    ASSERT_TRUE(waiting);
    EXPECT_THAT(waiting->message(), HasSubstr("not all went well at B: submission failed ("));
    EXPECT_THAT(waiting->message(), HasSubstr("next try in"));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
}

TEST_F(Trouble, JobThatFailsIsSaidAndAWindowThatWaitsForItsNextTryIsTrouble)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs.at(0);
        job.state = State::ended;
        job.word = "FAILED";
        job.exit_code = 3;
    }
    std::mutex mutex;
    std::vector<std::string> said;
    auto world = make_world(std::make_shared<FixedClock>(at(60)), {50});
    world.log = Log([&](Level, std::string_view text) {
        std::lock_guard const guard(mutex);
        said.emplace_back(text);
    });
    auto const answer = poll_once(std::move(world), false).value();
    EXPECT_THAT(
        said,
        testing::Contains(
            "A: job 1 failed (FAILED, exit code 3); next try in 10.0 s (failure 1 in a row)"));
    ASSERT_TRUE(answer.trouble());
    EXPECT_EQ(answer.trouble()->code, ExitCode::unavailable);
    EXPECT_THAT(answer.trouble()->message(),
                HasSubstr("not all went well at A: job 1 ended at once (FAILED, exit code 3)"));
    auto const closed = once(900, {50, 500, 500, 500});
    EXPECT_FALSE(closed.trouble()) << "no job is wanted";
}

/// While it lives every write to a file fails, as on a full disk.
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

TEST_F(Trouble, FullDiskStopsNoDrainAndStartsNoJob)
{
    once(0, {50});
    slurm_["A"].jobs[0].started = SystemClock{}.now() - Seconds(60);
    {
        FullDisk const full;
        auto const answer = poll_once(
            make_world(std::make_shared<FixedClock>(at(900)), {50, 500, 500, 500}), false);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ExitCode::io);
        EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
        EXPECT_FALSE(poll_once(
            make_world(std::make_shared<FixedClock>(at(1200)), {50, 500, 500, 500, 50}), false));
        EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"))
            << "nobody would remember it";
    }
    once(1200, {50, 500, 500, 500, 50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1", "submit"));
    auto const text = read_file(run_.poller_folder() / "signals.jsonl").value();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
}

TEST_F(Trouble, FullDiskStopsNoDrainOfAWatch)
{
    StopRequest stop;
    auto options = quick();
    Result<Answer> answer = Answer{};
    slurm_["A"], slurm_["B"];
    auto world = make_world(std::make_shared<FixedClock>(at(0)), {50});
    std::jthread poller([&] { answer = watch(std::move(world), options, stop); });
    ASSERT_TRUE(test::eventually(
        [&] { return slurm_["A"].called().size() == 1 && slurm_["B"].called().size() == 1; }));
    {
        FullDisk const full;
        stop.raise();
        poller.join();
    }
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ExitCode::io);
}

TEST_F(Trouble, ClockThatWasSetBackFreezesNoLiveWindow)
{
    auto const live = [&](int second, std::vector<double> const& intensities) {
        auto world = make_world(std::make_shared<FixedClock>(at(second)), intensities);
        for (auto& parts : world.sites) parts.signals_begin.reset();
        return poll_once(std::move(world), false).value();
    };
    live(7200, std::vector<double>(25, 50));  // an hour ahead
    auto const back = live(3600, {500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500});
    ASSERT_TRUE(back.trouble());
    EXPECT_THAT(back.trouble()->message(), HasSubstr("the clock was set back"));
    EXPECT_EQ(back.sites[0].phase, windows::Phase::closing);
    EXPECT_EQ(live(4200, std::vector<double>(15, 500)).sites[0].phase, windows::Phase::closed);
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
}

TEST_F(Trouble, SiteThatIsTakenOutWithItsJobIsNotForgottenSilently)
{
    once(0, {50});
    run_.sites.pop_back();
    auto const answer = once(60, {50});
    ASSERT_TRUE(answer.trouble());
    EXPECT_EQ(answer.trouble()->code, ExitCode::config);
    EXPECT_EQ(answer.trouble()->message(),
              "site B is no longer in run demo: nobody looks after its job 1; put it back into "
              "`sites` until its job has ended");
}

TEST_F(Trouble, JobThatNoDrainReachesIsCancelledBeforeTheEndOfAReplayGivesUp)
{
    auto const clock = std::make_shared<ScaledClock>(TimeScale{at(0), SystemClock{}.now(), 1'000});
    auto world = make_world(clock, {50, 50});
    world.trace_end = at(300);
    world.sites[0].rules.grace = Millis(3'600'000);
    slurm_["A"].loses_drains = true;
    StopRequest const stop;
    auto const answer = watch(std::move(world), quick(), stop);
    EXPECT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(slurm_["A"].called(), testing::Contains("cancel 1"));
}

TEST_F(Trouble, SiteThatStaysSilentIsGivenUpAtTheEndAndSaid)
{
    auto const clock = std::make_shared<ScaledClock>(TimeScale{at(0), SystemClock{}.now(), 10'000});
    auto world = make_world(clock, {50, 50});
    world.trace_end = at(300);
    slurm_["A"].answers = false;
    StopRequest const stop;
    auto const answer = watch(std::move(world), quick(), stop);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ExitCode::temporary);
    EXPECT_THAT(answer.error().message(), HasSubstr("jobs may be left at A;"));
}

}  // namespace
}  // namespace curtail::poll
