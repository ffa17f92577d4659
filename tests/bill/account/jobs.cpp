// SPDX-License-Identifier: Apache-2.0
// When a site holds devices and what it does with them, from the events of trainer, poller and
// launcher; and a run's status.
#include <gmock/gmock.h>

#include "bill/account/figures.hpp"
#include "bill/account/shown.hpp"
#include "bill/account/small_run.hpp"
#include "bill/report/csv_tables.hpp"

namespace curtail::account {
namespace {

using energy::PowerState;
using energy::StateInterval;
using test::at;
using test::event;
using test::small_run;
using test::state;
using test::step;
using test::summary_text;
using testing::ElementsAre;

StateInterval held(PowerState what, double from, double to) { return {what, {at(from), at(to)}}; }

std::string text(double hours) { return format_time(at(hours)); }

std::vector<StateInterval> states(std::vector<Event> const& own, std::vector<Event> const& poller,
                                  std::vector<StepMetrics> const& rows = {}, double run_end = 9)
{
    std::vector<StateInterval> out;
    StepsByTime const steps(rows);
    for (auto const& job : jobs_of(own, poller, {"EAST"}, steps))
        for (auto const& s : states_of(job, steps, at(run_end))) out.push_back(s);
    return out;
}

std::vector<StepMetrics> const no_steps;
std::vector<Event> const trained{state(1, "EAST", "starting"), state(2, "EAST", "training")};
std::vector<Event> with_exit(double hours)
{
    auto events = trained;
    events.push_back(event(hours, "trainer-exit", "EAST", {{"code", 0}}));
    return events;
}

TEST(Jobs, AKilledTrainerTrainsUntilItsLastStepAndIsIdleUntilTheLaunchersEnd)
{
    std::vector<Event> const poller{
        event(5, "job-failed", "EAST", {{"job", "1"}, {"ended", text(4)}})};
    EXPECT_THAT(states(trained, poller, {step(2.5, {1}, 60), step(3, {1}, 60)}),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::idle, 3, 4)));
}

TEST(Jobs, AKilledTrainerWithoutALaunchersEndIsIdleUntilThePollerNoticed)
{
    std::vector<Event> const poller{event(5, "job-failed", "EAST", {{"job", "1"}})};
    EXPECT_THAT(states(trained, poller, {step(3, {1}, 60)}),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::idle, 3, 5)));
    EXPECT_THAT(states(trained, poller),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::idle, 2, 5)))
        << "no step was made";
}

TEST(Jobs, DevicesAreHeldFromTheLaunchersStartToItsEnd)
{
    std::vector<Event> const poller{
        event(0.25, "job-submitted", "EAST", {{"job", "1"}}),
        event(0.75, "job-started", "EAST", {{"job", "1"}, {"started", text(0.5)}}),
        event(4, "job-ended", "EAST", {{"job", "1"}, {"ended", text(3.5)}})};
    EXPECT_THAT(states(with_exit(3), poller),
                ElementsAre(held(PowerState::starting, 0.5, 2), held(PowerState::training, 2, 3),
                            held(PowerState::draining, 3, 3.5)));
}

TEST(Jobs, ALaunchersWholeSecondsAreBoundedByOtherEvents)
{
    std::vector<Event> const poller{
        event(0.25, "job-submitted", "EAST", {{"job", "1"}}),
        event(0.75, "job-started", "EAST", {{"job", "1"}, {"started", text(0.2)}}),
        event(4, "job-ended", "EAST", {{"job", "1"}, {"ended", text(2.9)}})};
    EXPECT_THAT(states(with_exit(3), poller),
                ElementsAre(held(PowerState::starting, 0.25, 2), held(PowerState::training, 2, 3)))
        << "no job begins before it is submitted, or ends before its trainer's last event";
}

TEST(Jobs, WithoutLauncherTimesPollerAndTrainerCount)
{
    std::vector<Event> const poller{event(0.75, "job-started", "EAST", {{"job", "1"}}),
                                    event(4, "job-ended", "EAST", {{"job", "1"}})};
    EXPECT_THAT(states(with_exit(3), poller),
                ElementsAre(held(PowerState::starting, 0.75, 2), held(PowerState::training, 2, 3)));
}

TEST(Jobs, AStartNoticedAfterTheTrainersExitIsNoSecondJob)
{
    std::vector<Event> const poller{event(3.5, "job-started", "EAST", {{"job", "1"}}),
                                    event(3.6, "job-ended", "EAST", {{"job", "1"}})};
    EXPECT_EQ(jobs_of(with_exit(3), poller, {"EAST"}, StepsByTime(no_steps)).size(), 1U);
}

TEST(Jobs, AJobThatEndedBeforeItsTrainerStartedHeldDevices)
{
    std::vector<Event> const poller{
        event(0.75, "job-started", "EAST", {{"job", "7"}, {"started", text(0.5)}}),
        event(2, "job-failed", "EAST", {{"job", "7"}, {"ended", text(1.5)}})};
    EXPECT_THAT(states({}, poller), ElementsAre(held(PowerState::starting, 0.5, 1.5)));
}

TEST(Jobs, ARunningJobLastsToTheLastRecordedTime)
{
    EXPECT_THAT(states(trained, {}, {step(3, {1}, 60)}, 3),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3)));
}

// Slurm requeues a job under the same id; a trainer started by hand has none.
TEST(Jobs, ARequeuedJobIsRequeuedFromTheLastStepOfTheKilledTrainer)
{
    auto own = trained;
    own.push_back(state(5, "EAST", "starting"));
    own.push_back(event(5, "trainer-start", "EAST", {{"job", "1"}, {"ranks", 1}}));
    own.push_back(state(5.5, "EAST", "training"));
    own.push_back(event(6, "trainer-exit", "EAST", {{"code", 0}}));
    EXPECT_THAT(states(own, {}, {step(3, {1}, 60), step(6, {1}, 60)}),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::requeued, 3, 5), held(PowerState::starting, 5, 5.5),
                            held(PowerState::training, 5.5, 6)));
}

// The poller sees that Slurm took the devices away, and gave others, before the trainer logs.
TEST(Jobs, ARequeuedJobHoldsDevicesFromItsNewStart)
{
    auto own = trained;
    own.push_back(state(6, "EAST", "starting"));
    own.push_back(event(6, "trainer-start", "EAST", {{"job", "1"}, {"ranks", 1}}));
    own.push_back(event(7, "trainer-exit", "EAST", {{"code", 0}}));
    std::vector<Event> const poller{
        event(3.5, "job-state", "EAST", {{"job", "1"}, {"state", "PENDING"}}),
        event(5.1, "job-state", "EAST",
              {{"job", "1"}, {"state", "RUNNING"}, {"started", text(5)}})};
    auto const first = {held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                        held(PowerState::requeued, 3, 3.5)};
    auto expected = std::vector<StateInterval>(first);
    expected.push_back(held(PowerState::starting, 5, 7));
    EXPECT_EQ(states(own, poller, {step(3, {1}, 60)}), expected);
    // The new trainer never logs.
    auto ended = poller;
    ended.push_back(event(6.5, "job-failed", "EAST", {{"job", "1"}, {"ended", text(6)}}));
    expected = {held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                held(PowerState::idle, 3, 3.5), held(PowerState::starting, 5, 6)};
    auto const without = states(trained, ended, {step(3, {1}, 60)});
    ASSERT_EQ(without.size(), expected.size());
    EXPECT_EQ(without.back(), expected.back());
}

TEST(Jobs, ATrainerThatStartsAgainInItsJobGaveNoDeviceBack)
{
    auto own = with_exit(3);
    own.push_back(state(4, "EAST", "starting"));
    own.push_back(event(5, "trainer-exit", "EAST", {{"code", 0}}));
    EXPECT_THAT(states(own, {}),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::draining, 3, 4), held(PowerState::starting, 4, 5)));
    std::vector<Event> const waits{
        event(3.25, "job-state", "EAST", {{"job", "1"}, {"state", "PENDING"}})};
    EXPECT_THAT(states(own, waits),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::starting, 4, 5)));
    // A cluster that was set up again gives the number to another job.
    std::vector<Event> const another{
        event(3.5, "job-submitted", "EAST", {{"job", "1"}}),
        event(4, "job-started", "EAST", {{"job", "1"}, {"started", text(3.75)}})};
    EXPECT_THAT(states(own, another),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 3),
                            held(PowerState::starting, 3.75, 5)));
}

TEST(Jobs, AJobOfThePollerNeverTakesThePlaceOfAPersonsJob)
{
    std::vector<Event> const poller{
        event(2.5, "job-started", "EAST", {{"job", "8"}, {"started", text(2.5)}}),
        event(2.6, "job-failed", "EAST", {{"job", "8"}, {"ended", text(2.6)}})};
    auto const jobs = jobs_of(with_exit(4), poller, {"EAST"}, StepsByTime(no_steps));
    ASSERT_EQ(jobs.size(), 1U) << "the poller's job, which could not train, is left out";
    EXPECT_EQ(jobs[0].job, "1");
    EXPECT_EQ(jobs[0].overlap, Seconds{360});
    EXPECT_THAT(states(with_exit(4), poller),
                ElementsAre(held(PowerState::starting, 1, 2), held(PowerState::training, 2, 4)));
}

TEST(Latencies, DistinguishWhetherAnotherSiteWasInItsRounds)
{
    auto files = small_run();
    files.sites[0].events.push_back(event(0.75, "first-step", "EAST"));
    files.sites[1].events.push_back(event(1.5, "first-step", "WEST"));
    auto const account = account_of(files);
    ASSERT_EQ(account.windows.size(), 2U);
    EXPECT_NEAR(account.windows[0].start->seconds, 2700, 1e-9);
    EXPECT_FALSE(account.windows[0].start->others_trained);
    EXPECT_NEAR(account.windows[1].start->seconds, 1800, 1e-9);
    EXPECT_TRUE(account.windows[1].start->others_trained);
    EXPECT_TRUE(account.windows[0].stop->others_trained);
    EXPECT_EQ(spread_of(account.windows, &WindowAccount::start, true)->greatest, 1800);
}

class Windows : public testing::Test {
  protected:
    static Event open(double hours, char const* id)
    {
        return event(hours, "window-open", "EAST", {{"window", id}});
    }
    void forget_the_closing()
    {
        files.poller_events.erase(files.poller_events.begin() + 2);
        for (auto const& e : files.poller_events)
            ASSERT_FALSE(e.type == "window-close" && e.site == "EAST");
    }
    std::vector<Span> of_east() const
    {
        std::vector<Span> out;
        for (auto const& w : account_of(files).windows)
            if (w.site == 0) out.push_back({w.open_s / 3600, w.close_s.value_or(-1) / 3600});
        return out;
    }
    double share() const { return account_of(files).sites[0].bill.inside_share().value_or(0); }
    RunFiles files{small_run()};
};

TEST_F(Windows, WithDuplicateOpeningsAreMerged)
{
    files.poller_events.push_back(open(0.5, "e"));
    EXPECT_THAT(of_east(), ElementsAre(Span{0, 2}));
    EXPECT_NEAR(share(), 3.2 / 3.4, 1e-12);
}

TEST_F(Windows, WithoutAClosingEndWithTheNextOpening)
{
    forget_the_closing();
    files.poller_events.push_back(open(1, "later"));
    EXPECT_THAT(of_east(), ElementsAre(Span{0, 1}, Span{1, -1.0 / 3600}));
    EXPECT_NEAR(share(), 1, 1e-12) << "never more than all";
}

TEST_F(Windows, WithoutAClosingEndWithTheDecision)
{
    forget_the_closing();
    files.poller_events.push_back(
        event(1.5, "decision", "EAST",
              {{"from", "closing"}, {"to", "closed"}, {"reason", "delay-over"}}));
    EXPECT_THAT(of_east(), ElementsAre(Span{0, 1.5}));
}

class Warnings : public testing::Test {
  protected:
    // Texts of the notes with warnings.
    std::vector<std::string> texts() const
    {
        std::vector<std::string> out;
        for (auto const& [title, text] : account_of(files).notes)
            if (title == "Warning") out.push_back(text);
        return out;
    }
    RunFiles files{small_run()};
};

TEST_F(Warnings, AreNoneInConsistentFiles) { EXPECT_THAT(texts(), testing::IsEmpty()); }

TEST_F(Warnings, OfJobsThatOverlappedAreDoubts)
{
    files.sites[0].events.insert(
        files.sites[0].events.begin() + 2,
        event(1.5, "state", "EAST", {{"state", "training"}, {"job", "2"}}));
    std::string doubts;
    for (auto const& doubt : account_of(files).doubts) doubts += doubt.text + "\n";
    EXPECT_THAT(doubts,
                testing::HasSubstr("EAST: two jobs held devices at once for 3600.0 real s"));
}

class Status : public testing::Test {
  protected:
    std::string word() const { return account_of(files).status; }
    void leave_west_open()
    {
        files.poller_events.erase(files.poller_events.begin() + 4);
        ASSERT_EQ(files.poller_events.back().site, "WEST");
    }
    RunFiles files{small_run()};
};

TEST_F(Status, IsRestingWithoutAnOpenWindowBeforeTheEnd) { EXPECT_EQ(word(), "resting"); }

TEST_F(Status, IsWaitingForDevicesInAnOpenWindowWithoutAJob)
{
    leave_west_open();
    EXPECT_EQ(word(), "waiting for devices");
}

TEST_F(Status, IsStoppedIfAJobWasStoppedInAnOpenWindow)
{
    leave_west_open();
    files.poller_events.push_back(event(3.0, "job-drained", "WEST",
                                        {{"window", "w"}, {"job", "1"}, {"why", "asked to stop"}}));
    EXPECT_EQ(word(), "stopped");
    files.poller_events.push_back(
        event(3.2, "job-submitted", "WEST", {{"window", "w"}, {"job", "2"}}));
    EXPECT_EQ(word(), "waiting for devices");
}

TEST_F(Status, IsFinishedAfterTheWholeReplayOrTheLastCommit)
{
    files.clock = TimeScale{at(0), at(0), 1};
    files.evaluated_until = at(3.9);
    EXPECT_EQ(word(), "resting");
    files.evaluated_until = at(4);
    EXPECT_EQ(word(), "finished");
    files.trace_from_file = false;
    EXPECT_EQ(word(), "resting");
    files.commits.back().run_complete = true;
    EXPECT_EQ(word(), "complete");
}

TEST_F(Status, IsRunningWhileAJobHoldsDevices)
{
    files.sites[1].events.pop_back();
    files.poller_events.pop_back();
    EXPECT_EQ(word(), "running");
}

class Evaluation : public testing::Test {
  protected:
    Account account(std::int64_t commit, Tokens tokens)
    {
        auto files = small_run();
        files.evaluation =
            runlog::Evaluation{{commit}, {}, {100}, Tokens{tokens}, 4, {}, 6, {}, ""};
        return account_of(files);
    }
};

TEST_F(Evaluation, OfTheNewestModelIsShown)
{
    auto const fresh = account(2, {7200});
    ASSERT_TRUE(fresh.held_out);
    EXPECT_FALSE(fresh.held_out->newer);
}

TEST_F(Evaluation, OfAnOlderCommitHasANote)
{
    auto const stale = account(1, {0});
    ASSERT_TRUE(stale.held_out);
    EXPECT_EQ(stale.held_out->newer, 2);
    EXPECT_THAT(stale.notes, testing::Contains(testing::Pair(
                                 "Held-out loss", testing::HasSubstr("now at commit 2"))));
}

runlog::HeldOutLine followed_line(std::int64_t commit, Tokens includes, std::optional<double> loss)
{
    runlog::HeldOutLine line;
    line.commit = {commit};
    line.round = {commit};
    line.trained = includes;
    line.tokens = Tokens{100};
    line.loss = loss;
    line.unigram_entropy = 6;
    return line;
}

TEST_F(Evaluation, LossesInTheSitesJournalsAreShownWithTheirWarnings)
{
    auto files = small_run();
    files.evaluation = runlog::Evaluation{{1}, {}, {100}, Tokens{0}, 3, {}, 6, {}, ""};
    files.sites.back().evaluations = {followed_line(2, {7100}, 1), followed_line(9, {9000}, 1),
                                      followed_line(1, {0}, 4), followed_line(2, {7200}, 4.5)};
    auto const a = account_of(files);
    ASSERT_EQ(a.followed.size(), 2U) << "the other lines are of another run";
    EXPECT_EQ(a.followed[1].model.site, files.run.sites.back().site);
    EXPECT_EQ(a.held_out->commit, 2) << "newer than evaluation.json";
    EXPECT_EQ(a.held_out->loss, 4.5);
    EXPECT_THAT(a.warnings, testing::Contains(testing::HasSubstr(
                                "of commit 2 is 0.500 nats per token above that of commit 1")));
    auto const document = report::document(a, std::nullopt);
    auto const& points = *document.find("held_out")->as_array();
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[1].as_object()->number_at("loss"), 4.5);
    EXPECT_EQ(points[1].as_object()->integer_at("trained_tokens"), 7200);
    for (auto const& table : report::csv_tables(document))
        if (table.name == "held_out") { EXPECT_EQ(table.rows.size(), 2U); }
    EXPECT_THAT(summary_text(a), testing::HasSubstr("warning: the held-out loss of commit 2"));
}

// An earlier run in the same folder had as many tokens at the same commit.
TEST_F(Evaluation, LossesOfAnotherModelAreNotShown)
{
    auto files = small_run();
    files.commits.back().model = sha256("the model of this run");
    auto mine = followed_line(2, {7200}, 4.5);
    mine.model = files.commits.back().model;
    auto other = followed_line(2, {7200}, 3);
    other.model = sha256("the model of an earlier run");
    files.sites.back().evaluations = {mine, other};
    auto const a = account_of(files);
    ASSERT_EQ(a.followed.size(), 1U);
    EXPECT_EQ(a.followed[0].model.line, mine);
    files.sites.back().evaluations = {other};
    EXPECT_THAT(account_of(files).followed, testing::IsEmpty());
}

TEST_F(Evaluation, OfAModelThatIsBehindHasANoteOnlyIfNobodyFollowsTheRun)
{
    auto files = small_run();
    files.sites.back().evaluations = {followed_line(1, {0}, 4)};
    auto const a = account_of(files);
    EXPECT_EQ(a.held_out->newer, 2);
    EXPECT_THAT(a.notes, testing::Not(testing::Contains(testing::Key("Held-out loss"))));
    EXPECT_EQ(report::document(account_of(small_run()), std::nullopt).find("held_out"), nullptr);
}

TEST_F(Evaluation, OfAnotherRunIsNotShown)
{
    for (auto const& foreign : {account(9, {7200}), account(2, {7100})}) {
        EXPECT_FALSE(foreign.held_out);
        EXPECT_EQ(foreign.missing.count("held_out"), 1U);
    }
}

}  // namespace
}  // namespace curtail::account
