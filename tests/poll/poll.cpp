// SPDX-License-Identifier: Apache-2.0
#include "poll/poll.hpp"

#include <set>
#include <thread>

#include "core/text.hpp"
#include "poll/fixture.hpp"
#include "poll/report.hpp"
#include "support/eventually.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Poll, OpenWindowGetsItsJobAndAClosedOneLosesIt)
{
    EXPECT_THAT(once(0, {50}).sites[0].actions[0].why, HasSubstr("window is open"));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
    once(60, {50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit")) << "one job is enough";
    once(600, {50, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit")) << "it closes only after the delay";
    once(900, {50, 500, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    once(960, {50, 500, 500, 500});
    EXPECT_THAT(event_types("A"),
                ElementsAre("decision", "window-open", "job-submitted", "job-started", "decision",
                            "decision", "window-close", "job-drained", "job-ended"));
}

TEST_F(Poll, LatePollAppliesWhatItMissedAtItsOwnTimes)
{
    // Open at 300, closing at 600, closed at 1200, open again at 1500: found out at 1600, by the
    // very first look.
    auto const answer = once(1600, {500, 50, 500, 500, 500, 50});
    EXPECT_EQ(answer.sites[0].phase, windows::Phase::open);
    std::vector<std::string> times;
    auto const file = runlog::read_events(run_.poller_folder() / "events.jsonl").value();
    for (auto const& event : file.events)
        if (event.site == "A" && event.type == "decision")
            times.push_back(*event.details.find("signal_time")->as_text());
    EXPECT_THAT(times, ElementsAre(format_time(at(300)), format_time(at(600)),
                                   format_time(at(1200)), format_time(at(1500))));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"))
        << "a window that is over needs no job";
}

TEST_F(Poll, JobEventsCarryTheLaunchersTimes)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs[0];
        job.state = State::ended;
        job.word = "NODE_FAIL";
        job.started = at(5);
        job.ended = at(15);
    }
    once(60, {50});
    std::map<std::string, std::string> told;
    auto const file = runlog::read_events(run_.poller_folder() / "events.jsonl").value();
    for (auto const& event : file.events)
        for (auto const* key : {"started", "ended"})
            if (auto const* time = event.details.find(key); event.site == "A" && time != nullptr)
                told[event.type + " " + key] = *time->as_text();
    EXPECT_THAT(told, ElementsAre(std::pair("job-ended ended", format_time(at(15))),
                                  std::pair("job-failed ended", format_time(at(15))),
                                  std::pair("job-started started", format_time(at(5)))));
}

TEST_F(Poll, SamplesThatDecideAreRecorded)
{
    once(400, {50, 60, 70});
    once(700, {50, 60, 70});
    std::vector<std::string> times;
    auto const text = read_file(run_.poller_folder() / "signals.jsonl").value();
    for (auto const line : split(text, '\n'))
        if (!line.empty())
            times.push_back(
                *json::parse(line, "line").value().as_object()->find("time")->as_text());
    EXPECT_THAT(times, ElementsAre(format_time(at(0)), format_time(at(300)), format_time(at(600))))
        << "sites of one region share them";
}

TEST_F(Poll, ReplayWhoseStateIsLostTellsNothingTwiceAndKeepsItsJob)
{
    once(0, {500});
    once(1000, {500, 50, 500, 50});
    once(1010, {500, 50, 500, 50});
    auto const before = event_types("A");
    EXPECT_THAT(before, ElementsAre("decision", "window-open", "decision", "decision",
                                    "job-submitted", "job-started"));
    std::filesystem::remove(run_.poller_folder() / "state.json");
    once(1100, {500, 50, 500, 50});
    EXPECT_EQ(event_types("A"), before);
    once(1800, {500, 50, 500, 50, 500, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    std::set<std::int64_t> numbers;
    auto const file = runlog::read_events(run_.poller_folder() / "events.jsonl").value();
    for (auto const& event : file.events)
        numbers.insert(*event.details.find("number")->as_integer());
    EXPECT_EQ(numbers.size(), file.events.size());
    auto const types = event_types("A");
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-close"), 1);
}

TEST_F(Poll, JobThatEndsWhileTheStateIsLostIsSeenToEnd)
{
    once(0, {50});
    once(10, {50});
    std::filesystem::remove(run_.poller_folder() / "state.json");
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        slurm_["A"].jobs.at(0).state = State::ended;
        slurm_["A"].jobs.at(0).word = "CANCELLED";
    }
    once(20, {50});
    EXPECT_THAT(event_types("A"), ElementsAre("decision", "window-open", "job-submitted",
                                              "job-started", "job-ended", "job-failed"));
}

TEST_F(Poll, LiveWatchThatIsKilledFallsBackByNoMoreThanASample)
{
    auto world = make_world(std::make_shared<FixedClock>(at(0)), {50, 50});
    world.sites[0].signals_begin.reset();
    auto const book = Book::open(run_, Book::Mode::write, SystemClock{}.now()).value();
    SiteWatch site(std::move(world.sites[0]), *book, Log());
    auto const on_disk = [&] { return read_file(run_.poller_folder() / "state.json").value(); };
    EXPECT_TRUE(site.evaluate(at(0)).good);
    EXPECT_FALSE(site.evaluate(at(301)).good) << "nothing has changed";
    EXPECT_THAT(on_disk(), HasSubstr("\"evaluated_until\":\"" + format_time(at(301))));
    EXPECT_FALSE(site.evaluate(at(302)).good);
    EXPECT_THAT(on_disk(), HasSubstr("\"evaluated_until\":\"" + format_time(at(301))))
        << "not at each look";
}

TEST_F(Poll, LookWithoutASignalShowsHowThingsWereLeft)
{
    once(400, {50, 60});
    auto world = make_world(std::make_shared<FixedClock>(at(9'000)), {});
    for (auto& parts : world.sites) parts.provider.reset();
    auto const answer = poll_once(std::move(world), true);
    ASSERT_TRUE(answer);
    auto const text = explain(answer->sites, true);
    EXPECT_THAT(text, HasSubstr("A (" + format_time(at(400)) +
                                ")\n  signal  not asked for\n  window  open since"));
    EXPECT_THAT(text, HasSubstr("job     1 RUNNING\n  would   wait: job 1 is running"));
}

TEST_F(Poll, ProviderWithoutAValueIsNotCalledStale)
{
    auto world = make_world(std::make_shared<FixedClock>(at(60)), {});
    signals::Sample const empty{at(0), {}, "watttime", signals::SignalType::marginal, {}, {}};
    world.sites[0].provider = std::make_unique<FakeProvider>(std::vector{empty});
    EXPECT_THAT(explain(poll_once(std::move(world), true)->sites, true),
                HasSubstr("signal  no signal (watttime said 1m00s ago that it has no value)"));
}

TEST_F(Poll, DryRunSaysWhatTheWindowWantsThoughSlurmIsSilent)
{
    slurm_["A"].answers = false;
    EXPECT_THAT(explain(once(0, {50}, true).sites, true),
                HasSubstr("would   wait: nothing is done about jobs until they can be listed; the "
                          "window is open since"));
}

TEST_F(Poll, DryRunChangesNothing)
{
    auto const answer = once(0, {50}, true);
    EXPECT_EQ(answer.sites[0].actions[0].kind, plan::Action::Kind::submit);
    EXPECT_TRUE(slurm_["A"].called().empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    auto const text = explain(answer.sites, true);
    EXPECT_THAT(text, HasSubstr("would   submit: the window is open since"));
    EXPECT_THAT(text, HasSubstr("50.0 gCO2/kWh"));
}

TEST_F(Poll, JobThatCannotStartIsShownWithItsReasonAndAWarning)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs.at(0);
        job.state = State::pending;
        job.word = "PENDING";
        job.reason = "JobHeldUser";
        job.warning = "job 1 waits for JobHeldUser";
    }
    auto const answer = once(60, {50});
    auto const text = explain(answer.sites, false);
    EXPECT_THAT(
        text,
        HasSubstr("  job     1 PENDING (JobHeldUser)\n  trouble job 1 waits for JobHeldUser\n"));
    auto const json = json::to_string(to_json(answer.sites));
    EXPECT_THAT(json, HasSubstr(R"("reason":"JobHeldUser")"));
    EXPECT_THAT(json, HasSubstr(R"("trouble":["job 1 waits for JobHeldUser"])"));
}

TEST_F(Poll, CompleteRunGetsNoMoreJobs)
{
    ASSERT_TRUE(write_file(folder_ / "complete.json", "{}"));
    EXPECT_THAT(once(0, {50}).sites[0].actions[0].why, HasSubstr("the run is complete"));
    EXPECT_TRUE(slurm_["A"].called().empty());
}

TEST_F(Poll, ReplayEndsByItselfWithNothingLeft)
{
    auto const clock = std::make_shared<ScaledClock>(TimeScale{at(0), SystemClock{}.now(), 2'500});
    auto world = make_world(clock, {500, 50, 50, 500, 500, 500, 50, 50, 50});
    world.trace_end = at(2400);
    StopRequest const stop;
    auto const answer = watch(std::move(world), quick(), stop);
    ASSERT_TRUE(answer) << answer.error().message();
    for (auto const* site : {"A", "B"}) {
        EXPECT_THAT(slurm_[site].called(), ElementsAre("submit", "drain 1", "submit", "drain 2"));
        EXPECT_EQ(slurm_[site].most_alive, 1);
    }
    auto const types = event_types("A");
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-open"), 2);
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-close"), 1)
        << "the end of a trace closes no window";
    EXPECT_EQ(std::count(types.begin(), types.end(), "job-ended"), 2);
}

TEST_F(Poll, StopRequestDrainsAndASecondOneCancels)
{
    run_.sites[0].launcher.grace = Millis(3'600'000);
    slurm_["A"].ignores_drain = true;
    StopRequest stop;
    auto options = quick();
    auto world = make_world(std::make_shared<FixedClock>(at(0)), {50});
    world.sites[0].rules.grace = Millis(3'600'000);
    Result<Answer> answer = Answer{};
    std::jthread const poller([&] { answer = watch(std::move(world), options, stop); });
    auto const called = [&](std::string const& site, std::string const& what) {
        auto const calls = slurm_[site].called();
        return std::find(calls.begin(), calls.end(), what) != calls.end();
    };
    slurm_["A"], slurm_["B"];
    ASSERT_TRUE(test::eventually([&] { return called("A", "submit") && called("B", "submit"); }));
    stop.raise();
    ASSERT_TRUE(test::eventually([&] { return called("A", "drain 1") && called("B", "drain 1"); }));
    EXPECT_FALSE(called("A", "cancel 1"));
    stop.raise();
    EXPECT_TRUE(test::eventually([&] { return called("A", "cancel 1"); }));
}

TEST_F(Poll, LivePollerThatIsStoppedLeavesJobsAlone)
{
    StopRequest stop;
    auto options = quick();
    options.drain_on_exit = false;
    Result<Answer> answer = Answer{};
    slurm_["A"], slurm_["B"];
    {
        std::jthread const poller([&] {
            answer = watch(make_world(std::make_shared<FixedClock>(at(0)), {50}), options, stop);
        });
        ASSERT_TRUE(test::eventually(
            [&] { return !slurm_["A"].called().empty() && !slurm_["B"].called().empty(); }));
        stop.raise();
    }
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
}

}  // namespace
}  // namespace curtail::poll
