// SPDX-License-Identifier: Apache-2.0
// Clocks that were wrong: the bill says by how much, and when.
#include <gmock/gmock.h>

#include "bill/account/checked_run.hpp"
#include "bill/account/clocks.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;
using test::step;

class Clocks : public test::CheckedRun {
  protected:
    // Moves what EAST's trainer logged from `from` on.
    void shift(Millis by, double from = -1)
    {
        for (auto& e : files.sites[0].events)
            if (e.time > at(from)) e.time += by;
        for (auto& s : files.sites[0].metrics)
            if (s.time > at(from)) s.time += by;
    }
    void log_monotonic_times()
    {
        auto const zero = at(0) - Seconds{5000};
        for (auto& e : files.sites[0].events)
            e.details.set("monotonic_s", FractionalSeconds(e.time - zero).count());
        for (auto& s : files.sites[0].metrics) s.monotonic = MonoTime{s.time - zero};
    }
    // The launcher's record of EAST's job.
    void report(double started, double ended, char const* state = "COMPLETED")
    {
        forget_ends("EAST");
        poller(0, "job-submitted", "EAST", {{"job", "1"}});
        poller(0.1, "job-started", "EAST", {{"job", "1"}, {"started", format_time(at(started))}});
        poller(ended + 0.1, "job-ended", "EAST",
               {{"job", "1"}, {"state", state}, {"ended", format_time(at(ended))}});
    }
};

TEST_F(Clocks, ThatAgreeRaiseNoDoubt)
{
    report(0, 2.5);
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_EQ(bound(), Bound::exact);
}

// What is reported has happened: a later time is a forgery, and must not make a job shorter.
TEST_F(Clocks, HaveNoTimesAfterTheLineThatReportsThem)
{
    report(0, 2.5);
    auto const clean = files;
    auto const forge = [&](char const* type, char const* key, double hours) {
        files = clean;
        for (auto& e : files.poller_events)
            if (e.site == "EAST" && e.type == type) e.details.set(key, format_time(at(hours)));
        std::erase_if(files.sites[0].events, [](Event const& e) { return e.time < at(0.5); });
        (void)titles();
    };
    forge("job-started", "started", 0);
    EXPECT_FALSE(has_note("after the report"));
    auto const held = seconds(0, energy::PowerState::starting);
    forge("job-started", "started", 0.4);
    EXPECT_TRUE(
        has_note("EAST: the poller's events.jsonl reports that job 1 started at a time after "
                 "the report, from 2026-03-01T00:06:00Z to 2026-03-01T00:24:00Z"));
    EXPECT_DOUBLE_EQ(seconds(0, energy::PowerState::starting), held - 360) << "the report's time";
    forge("job-ended", "ended", 2.7);
    EXPECT_TRUE(has_note("job 1 ended at a time after the report"));
}

TEST_F(Clocks, OfATrainerThatIsAheadForAWholeJobMakeItsBillUncertain)
{
    report(0, 2.1);
    shift(std::chrono::hours{1});
    EXPECT_THAT(titles(), testing::Contains("Times of a job differ"));
    EXPECT_TRUE(
        has_note("EAST: job 1 has events or steps until 3240.0 s after its end in the "
                 "poller's events.jsonl, from 2026-03-01T02:06:00Z to "
                 "2026-03-01T03:00:00Z"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, OfATrainerThatIsBehindForAWholeJobMakeItsBillUncertain)
{
    report(0, 2.5);
    shift(-std::chrono::minutes{30});
    EXPECT_THAT(titles(), testing::Contains("Times of a job differ"));
    EXPECT_TRUE(has_note("EAST: the trainer of job 1 begins 1800.0 s before the start of the job"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, OfATrainerThatBeginsBeforeItsSubmissionMakeItsBillUncertain)
{
    poller(0.2, "job-submitted", "EAST", {{"job", "1"}});
    poller(0.3, "job-started", "EAST", {{"job", "1"}});
    EXPECT_THAT(titles(), testing::ElementsAre("Times of a job differ"));
    EXPECT_TRUE(has_note("720.0 s before the submission of the job"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, ThatNobodyCanCheckHaveANoteOnly)
{
    account_ = account_of(files);
    EXPECT_TRUE(
        has_note("EAST: 4 of 4 lines of metrics.jsonl lack monotonic_s, from "
                 "2026-03-01T00:45:00Z to 2026-03-01T02:00:00Z"));
    EXPECT_TRUE(has_note("WEST: 4 of 4 lines of events.jsonl lack monotonic_s"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Clocks, OfWhichOnlySomeLinesHaveTheMonotonicTimeMakeTheBillUncertain)
{
    for (auto& site : files.sites) test::add_monotonic_times(site);
    files.sites[0].metrics[1].monotonic.reset();
    account_ = account_of(files);
    EXPECT_EQ(bound(), Bound::uncertain);
    EXPECT_TRUE(has_note("EAST: 1 of 4 lines of metrics.jsonl lack monotonic_s"));
}

// The trainer ran for 2 h, so the launcher's 15 min are wrong, and the trainer's clock need not be.
TEST_F(Clocks, AreNotDoubtedIfTheLaunchersEndIsImpossible)
{
    forget_ends("EAST");
    poller(0.1, "job-started", "EAST", {{"job", "1"}, {"started", format_time(at(0))}});
    poller(9, "job-ended", "EAST",
           {{"job", "1"}, {"state", "COMPLETED"}, {"ended", format_time(at(0.25))}});
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_EQ(account_.warnings.size(), 1U);
}

// Slurm ends a cancelled job at once, and its processes leave later.
TEST_F(Clocks, AreNotDoubtedIfACancelledJobLeavesLater)
{
    report(0, 1.995, "CANCELLED");
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Clocks, OfThePollerThatMissesARunningJobMakeItsBillUncertain)
{
    forget_ends("EAST");
    poller(1, "job-ended", "EAST", {{"job", "1"}, {"state", "GONE"}});
    EXPECT_THAT(titles(), testing::ElementsAre("Times of a job differ"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, ThatAreSetBackWithoutAMonotonicClockMakeABillUncertain)
{
    files.sites[0].metrics.push_back(step(1.9, {900}, 60));
    EXPECT_THAT(titles(), testing::Contains("Clock set back"));
    EXPECT_TRUE(
        has_note("the clock of EAST was set back by 360.0 s from 2026-03-01T01:54:00Z to "
                 "2026-03-01T02:00:00Z, as the times in metrics.jsonl show"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, ThatAreSetBackBetweenJobsMakeABillUncertain)
{
    auto& own = files.sites[0].events;
    for (auto const& [hour, word] : {std::pair(1.8, "starting"), std::pair(1.81, "training")})
        own.push_back(test::event(hour, "state", "EAST", {{"state", word}, {"job", "2"}}));
    own.push_back(test::event(1.9, "trainer-exit", "EAST", {{"code", 0}}));
    EXPECT_THAT(titles(), testing::Contains("Clock set back"));
    EXPECT_FALSE(total_of(account_).whole());
}

TEST_F(Clocks, ThatAreSetForwardMakeABillUncertain)
{
    log_monotonic_times();
    EXPECT_THAT(titles(), testing::IsEmpty());
    shift(std::chrono::minutes{5}, 1.1);
    EXPECT_THAT(titles(), testing::Contains("Clock set forward"));
    EXPECT_TRUE(has_note("the clock of EAST was set forward by 300.0 s"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, ThatAreSetForwardBeforeTheFirstStepMakeABillUncertain)
{
    log_monotonic_times();
    shift(std::chrono::minutes{5}, 0.1);
    EXPECT_THAT(titles(), testing::Contains("Clock set forward"));
}

TEST_F(Clocks, OfThePollerThatAreSetBackMakeABillUncertain)
{
    files.poller_events.push_back(
        test::event(1, "job-drained", "EAST", {{"window", "e"}, {"job", "1"}}));
    EXPECT_THAT(titles(), testing::Contains("Clock set back"));
    EXPECT_TRUE(has_note("as the times in the poller's events.jsonl show"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Clocks, ThatDifferByLittleHaveANoteOnly)
{
    log_monotonic_times();
    shift(Seconds{2}, 1.1);
    EXPECT_THAT(titles(), testing::ElementsAre("Clock set forward"));
    EXPECT_EQ(bound(), Bound::exact);
}

}  // namespace
}  // namespace curtail::account
