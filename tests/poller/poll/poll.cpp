// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/poll.hpp"

#include <set>

#include "base/core/text.hpp"
#include "poller/poll/fixture.hpp"
#include "poller/poll/status.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Poll, OpenWindowGetsAJobAndAClosedWindowDrainsIt)
{
    EXPECT_THAT(once(0, {50}).sites[0].jobs.actions[0].why,
                HasSubstr("window has been open since"));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
    once(60, {50});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit")) << "one job is enough";
    once(600, {50, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"))
        << "the window closes only after the delay";
    once(900, {50, 500, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    once(960, {50, 500, 500, 500});
    EXPECT_THAT(event_types("A"),
                ElementsAre("decision", "window-open", "job-submitted", "job-started", "decision",
                            "decision", "window-close", "job-drained", "job-ended"));
}

TEST_F(Poll, LatePollAppliesMissedSamplesAtTheirOwnTimes)
{
    // Open at 300, closing at 600, closed at 1200, open again at 1500; the first poll is at 1600.
    auto const result = once(1600, {500, 50, 500, 500, 500, 50});
    EXPECT_EQ(result.sites[0].signal.phase, windows::Phase::open);
    std::vector<std::string> times;
    for (auto const& event : events("A"))
        if (event.type == "decision")
            times.push_back(*event.details.find("signal_time")->as_text());
    EXPECT_THAT(times, ElementsAre(format_time(at(300)), format_time(at(600)),
                                   format_time(at(1200)), format_time(at(1500))));
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit")) << "a past window needs no job";
}

TEST_F(Poll, JobEventsContainTheLaunchersTimes)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs[0];
        job.state = State::ended;
        job.launcher_state = "NODE_FAIL";
        job.started = at(5);
        job.ended = at(15);
    }
    once(60, {50});
    std::map<std::string, std::string> times;
    for (auto const& event : events("A"))
        for (auto const* key : {"started", "ended"})
            if (auto const* time = event.details.find(key); time != nullptr)
                times[event.type + " " + key] = *time->as_text();
    EXPECT_THAT(times, ElementsAre(std::pair("job-ended ended", format_time(at(15))),
                                   std::pair("job-failed ended", format_time(at(15))),
                                   std::pair("job-started started", format_time(at(5)))));
}

TEST_F(Poll, RecordsTheSamplesOfItsDecisions)
{
    once(400, {50, 60, 70});
    once(700, {50, 60, 70});
    std::vector<std::string> times;
    auto const text = read_file(run_.poller_folder({"A"}) / "signals.jsonl").value();
    for (auto const line : split(text, '\n'))
        if (!line.empty())
            times.push_back(
                *json::parse(line, "line").value().as_object()->find("time")->as_text());
    EXPECT_THAT(times, ElementsAre(format_time(at(0)), format_time(at(300)), format_time(at(600))));
    EXPECT_EQ(read_file(run_.poller_folder({"B"}) / "signals.jsonl").value(), text)
        << "each site has its own file";
}

TEST_F(Poll, ReplayThatLostItsStateRepeatsNoEventAndKeepsItsJob)
{
    once(0, {500});
    once(1000, {500, 50, 500, 50});
    once(1010, {500, 50, 500, 50});
    auto expected = event_types("A");
    EXPECT_THAT(expected, ElementsAre("decision", "window-open", "decision", "decision",
                                      "job-submitted", "job-started"));
    std::filesystem::remove(run_.poller_folder() / "state.json");
    once(1100, {500, 50, 500, 50});
    expected.emplace_back("job-state");  // an unrecorded one may have gone before
    EXPECT_EQ(event_types("A"), expected);
    once(1800, {500, 50, 500, 50, 500, 500, 500});
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit", "drain 1"));
    std::set<std::int64_t> numbers;
    std::size_t written = 0;
    for (auto const* site : {"A", "B"})
        for (auto const& event : events(site)) {
            numbers.insert(*event.details.find("number")->as_integer());
            ++written;
        }
    EXPECT_EQ(numbers.size(), written);
    auto const types = event_types("A");
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-close"), 1);
}

TEST_F(Poll, AfterALossOfStateAPollOfOneSiteDoesNotForgetTheEventsOfAnother)
{
    std::vector<double> const signal{500, 50, 500, 50};
    once(1100, signal);
    once(1100, signal);  // the job has started
    auto expected = event_types("B");
    std::filesystem::remove(run_.poller_folder() / "state.json");
    auto only_a = make_context(std::make_shared<FixedClock>(at(1100)), signal);
    only_a.sites.pop_back();
    ASSERT_TRUE(poll_once(std::move(only_a), false));
    once(1100, signal);
    expected.emplace_back("job-state");  // an unrecorded one may have gone before
    EXPECT_EQ(event_types("B"), expected);
}

TEST_F(Poll, JobThatEndsWhileTheStateIsLostGetsItsEvents)
{
    once(0, {50});
    once(10, {50});
    std::filesystem::remove(run_.poller_folder() / "state.json");
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        slurm_["A"].jobs.at(0).state = State::ended;
        slurm_["A"].jobs.at(0).launcher_state = "CANCELLED";
    }
    once(20, {50});
    EXPECT_THAT(event_types("A"), ElementsAre("decision", "window-open", "job-submitted",
                                              "job-started", "job-ended", "job-failed"));
}

TEST_F(Poll, KilledLiveWatchFallsBackByAtMostOneSample)
{
    auto context = make_context(std::make_shared<FixedClock>(at(0)), {50, 50});
    context.sites[0].trace_start.reset();
    auto const opened = open_store(run_, Access::write, SystemClock{}.now()).value();
    SitePoller site(std::move(context.sites[0]), *opened, Log());
    auto const on_disk = [&] { return read_file(run_.poller_folder() / "state.json").value(); };
    EXPECT_TRUE(site.evaluate(at(0)).phase_changed);
    EXPECT_FALSE(site.evaluate(at(301)).phase_changed) << "the phase did not change";
    EXPECT_THAT(on_disk(), HasSubstr("\"evaluated_until\":\"" + format_time(at(301))));
    EXPECT_FALSE(site.evaluate(at(302)).phase_changed);
    EXPECT_THAT(on_disk(), HasSubstr("\"evaluated_until\":\"" + format_time(at(301))))
        << "not at each evaluation";
}

TEST_F(Poll, PollWithoutASignalShowsTheLastEvaluation)
{
    once(400, {50, 60});
    auto context = make_context(std::make_shared<FixedClock>(at(9'000)), {});
    for (auto& parts : context.sites) parts.provider.reset();
    auto const result = poll_once(std::move(context), true);
    ASSERT_TRUE(result);
    auto const text = explain(result->sites, true);
    EXPECT_THAT(text, HasSubstr("A (" + format_time(at(400)) +
                                ")\n  signal  not requested\n  window  open since"));
    EXPECT_THAT(text, HasSubstr("job     1 RUNNING\n  would   wait: job 1 is running"));
}

TEST_F(Poll, TrainerThatAPersonStartedIsShownUntilItsEnd)
{
    auto const folder = run_.site_folder({"A"});
    runlog::EventLog const events(folder / "events.jsonl");
    auto const now = SystemClock{}.now();
    auto const write_status = [&](Time time) {
        return write_file(folder / "status.json",
                          R"({"job": "42", "time": ")" + format_time(time) + "\"}");
    };
    ASSERT_TRUE(make_folder(folder));
    ASSERT_TRUE(write_status(now));
    ASSERT_TRUE(events.append(runlog::to_event(runlog::TrainerStart{"42", 2, {}}, now, "A")));
    auto const shown = once(0, {500}).sites;
    EXPECT_THAT(explain(shown, false),
                HasSubstr("  job     none\n  trainer active since " + format_time(now) +
                          " in job 42, which this poller did not submit\n"));
    EXPECT_THAT(json::to_string(to_json(shown)), HasSubstr(R"("job":"42")"));
    ASSERT_TRUE(write_status(now - Seconds(60)));
    EXPECT_FALSE(once(60, {500}).sites[0].jobs.other_trainer) << "its status is old";
    ASSERT_TRUE(write_status(now));
    ASSERT_TRUE(
        events.append(runlog::to_event(runlog::TrainerExit{ExitCode::ok, "42", ""}, now, "A")));
    EXPECT_FALSE(once(60, {500}).sites[0].jobs.other_trainer) << "it has ended";
}

TEST_F(Poll, MissingValueIsNotReportedAsStale)
{
    auto context = make_context(std::make_shared<FixedClock>(at(60)), {});
    samples::Sample const empty{{at(0), {}}, "watttime", samples::SignalType::marginal, {}};
    context.sites[0].provider = std::make_unique<FakeProvider>(std::vector{empty});
    EXPECT_THAT(explain(poll_once(std::move(context), true)->sites, true),
                HasSubstr("signal  no signal (watttime reported no value 1m00s ago)"));
}

TEST_F(Poll, DryRunShowsTheDesiredStateWithoutAnswerFromSlurm)
{
    slurm_["A"].answers = false;
    EXPECT_THAT(explain(once(0, {50}, true).sites, true),
                HasSubstr("would   wait: no action on jobs until they can be listed; the "
                          "window has been open since"));
}

TEST_F(Poll, DryRunChangesNothing)
{
    auto const result = once(0, {50}, true);
    EXPECT_EQ(result.sites[0].jobs.actions[0].type, plan::ActionType::submit);
    EXPECT_TRUE(slurm_["A"].called().empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    auto const text = explain(result.sites, true);
    EXPECT_THAT(text, HasSubstr("would   submit: the window has been open since"));
    EXPECT_THAT(text, HasSubstr("50.0 gCO2/kWh"));
}

TEST_F(Poll, JobThatCannotStartIsShownWithReasonAndWarning)
{
    once(0, {50});
    {
        std::lock_guard const guard(slurm_["A"].mutex);
        auto& job = slurm_["A"].jobs.at(0);
        job.state = State::pending;
        job.launcher_state = "PENDING";
        job.reason = "JobHeldUser";
        job.warning = "job 1 waits for JobHeldUser";
    }
    auto const result = once(60, {50});
    auto const text = explain(result.sites, false);
    EXPECT_THAT(
        text,
        HasSubstr("  job     1 PENDING (JobHeldUser)\n  problem job 1 waits for JobHeldUser\n"));
    auto const json = json::to_string(to_json(result.sites));
    EXPECT_THAT(json, HasSubstr(R"("reason":"JobHeldUser")"));
    EXPECT_THAT(json, HasSubstr(R"("trouble":["job 1 waits for JobHeldUser"])"));
}

TEST_F(Poll, CompleteRunGetsNoMoreJobs)
{
    ASSERT_TRUE(write_file(folder_ / "complete.json", "{}"));
    EXPECT_THAT(once(0, {50}).sites[0].jobs.actions[0].why, HasSubstr("the run is complete"));
    EXPECT_TRUE(slurm_["A"].called().empty());
}

}  // namespace
}  // namespace curtail::poll
