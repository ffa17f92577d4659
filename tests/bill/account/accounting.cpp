// SPDX-License-Identifier: Apache-2.0
// What Slurm's accounting knows about the jobs must be in the bill.
#include <fmt/format.h>

#include "bill/account/audit.hpp"
#include "bill/account/checked_run.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;
using test::event;
using testing::HasSubstr;

class AccountedJobs : public test::CheckedRun {
  protected:
    static json::Object job(char const* id, double from, double to)
    {
        return json::Object{{"job", id},
                            {"state", "COMPLETED"},
                            {"started", format_time(at(from))},
                            {"ended", format_time(at(to))}};
    }
    void answer(double hours, json::Array jobs)
    {
        poller(hours, "accounting", "EAST", {{"jobs", std::move(jobs)}});
    }
    std::string meters()
    {
        for (auto const& line : audit_of(account_of(files)))
            if (line.key == "meters") return line.text;
        return "";
    }
};

TEST_F(AccountedJobs, ThatNoEventShowsAreMissingInTheBill)
{
    answer(8, {job("1", 0, 2.5)});
    EXPECT_THAT(titles(), testing::IsEmpty());
    answer(9, {job("1", 0, 2.5), job("1", 5, 6), job("2", 4, 4)});
    EXPECT_THAT(titles(), testing::ElementsAre("A job without a bill"));
    EXPECT_TRUE(
        has_note("EAST: Slurm's accounting in the poller's events.jsonl knows job 1, from "
                 "2026-03-01T05:00:00Z to 2026-03-01T06:00:00Z"));
    EXPECT_EQ(bound(), Bound::at_least);
    EXPECT_EQ(account_.sites[0].accounting, "3 jobs, asked at 2026-03-01T09:00:00Z");
    EXPECT_EQ(account_.sites[1].accounting, "");
}

// EAST is billed from 0:00 to 2:30.
TEST_F(AccountedJobs, OfAnotherLengthAreDoubts)
{
    struct Case {
        double from;
        double to;
        Bound bound;
    };
    auto const clean = files;
    for (auto const& [from, to, bound_of_bill] :
         {Case{0, 3, Bound::at_least}, Case{-1, 2.5, Bound::at_least}, Case{0, 2, Bound::at_most},
          Case{0.5, 2.5, Bound::at_most}, Case{0, 2.5005, Bound::exact}}) {
        files = clean;
        answer(9, {job("1", from, to)});
        EXPECT_THAT(titles(), testing::SizeIs(bound_of_bill == Bound::exact ? 0 : 1)) << to;
        EXPECT_EQ(bound(), bound_of_bill) << from << " to " << to;
    }
}

TEST_F(AccountedJobs, HaveTheLengthOfTheNewestAnswer)
{
    auto running = job("1", 0, 0);
    running.set("ended", json::Value());
    answer(1, {running});
    answer(9, {job("1", 0, 2.5)});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(AccountedJobs, ThatHaveRunHaveAStart)
{
    auto hidden = job("9", 5, 6);
    hidden.erase("started");
    answer(9, {job("1", 0, 2.5), hidden});
    EXPECT_THAT(titles(), testing::ElementsAre("Answers of the accounting"));
    EXPECT_TRUE(
        has_note("EAST: in the poller's events.jsonl, 1 entries of jobs in Slurm's answers, "
                 "from 2026-03-01T06:00:00Z to 2026-03-01T09:00:00Z, have run and lack"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(AccountedJobs, ThatWereCancelledBeforeTheyBeganHaveNone)
{
    auto cancelled = job("9", 5, 6);
    cancelled.set("started", json::Value());
    cancelled.set("state", "CANCELLED");
    cancelled.set("elapsed_s", 0);
    auto waiting = cancelled;
    waiting.set("state", "PENDING");
    waiting.set("ended", json::Value());
    answer(9, {job("1", 0, 2.5), cancelled, waiting});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(AccountedJobs, HaveNoTimesAfterTheAnswer)
{
    answer(2.6, {job("1", 0, 2.5), job("9", 5, 6)});
    EXPECT_THAT(titles(), testing::Contains("Answers of the accounting"));
    EXPECT_TRUE(has_note("have times after the answer"));
}

// A requeued job, or one that a script runs twice, has two trainers under one number.
TEST_F(AccountedJobs, WithTwoTrainersAreBilledTogether)
{
    auto& own = files.sites[0].events;
    own.insert(own.begin() + 2, test::state(1, "EAST", "starting"));
    own.insert(own.begin() + 3, test::state(1.01, "EAST", "training"));
    answer(9, {job("1", 0, 2.5)});
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Another length of a job")));
}

TEST_F(AccountedJobs, ThatWereSuspendedForLongerThanThePollerSawAreBilledTooHigh)
{
    auto suspended = job("1", 0, 2.5);
    suspended.set("elapsed_s", 9000 - 600);
    answer(9, {suspended});
    EXPECT_THAT(titles(), testing::ElementsAre("Another length of a job"));
    EXPECT_EQ(bound(), Bound::at_most);
    files.sites[0].events.insert(
        files.sites[0].events.end() - 2,
        event(1.5, "frozen", "EAST",
              {{"from", format_time(at(1.25))}, {"to", format_time(at(1.25 + 600.0 / 3600))}}));
    poller(1.2, "job-state", "EAST", {{"job", "1"}, {"state", "SUSPENDED"}});
    poller(1.5, "job-state", "EAST", {{"job", "1"}, {"state", "RUNNING"}});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

// EAST's steps are metered with 2 kW. By the bill, the job has 3.4 kWh.
TEST_F(AccountedJobs, HaveTheEnergyOfSlurmIfTheBillUsesMeters)
{
    auto& steps = files.sites[0].metrics;
    steps.insert(steps.begin(), test::step(0.5, {900}, 0, 0));
    files.run.sites[0].meter = config::Meter{true, {}};
    auto metered = job("1", 0, 2.5);
    metered.set("consumed_j", 3.4 * 3.6e6);
    answer(9, {metered});
    auto const meter = [&](double watts) {
        for (auto& step : steps) step.metered_j = watts * step.duration.count();
    };
    meter(2000);
    EXPECT_THAT(titles(), testing::IsEmpty());
    meter(1650);
    EXPECT_THAT(titles(), testing::ElementsAre("Meters differ"));
    EXPECT_TRUE(has_note("EAST: by energy_j of metrics.jsonl, 1 jobs drew"));
    EXPECT_TRUE(has_note("from 2026-03-01T00:00:00Z to 2026-03-01T02:30:00Z"));
    EXPECT_EQ(bound(), Bound::exact);
}

// The node has all of the devices in it.
TEST_F(AccountedJobs, HaveNoLessEnergyThanTheirDevices)
{
    auto metered = job("1", 0, 2.5);
    metered.set("consumed_j", 1.5 * 3.6e6);
    answer(9, {metered});
    EXPECT_THAT(titles(), testing::IsEmpty());
    for (auto& step : files.sites[0].metrics) step.metered_j = 2000 * step.duration.count();
    EXPECT_THAT(titles(), testing::ElementsAre("Meters differ"));
    EXPECT_TRUE(has_note("devices alone"));
}

// 0.4 kW for an hour, and 2 kW for 1.5 h.
TEST_F(AccountedJobs, HaveSlurmsEnergyBesideTheModel)
{
    auto const before = account_of(files).sites[0].bill.total;
    answer(9, {job("1", 0, 2.5)});
    EXPECT_THAT(meters(), HasSubstr("EAST, by Slurm's accounting: no energy of its 1 jobs is "
                                    "available"));
    auto metered = job("1", 0, 2.5);
    metered.set("consumed_j", 9e6);
    answer(10, {metered});
    EXPECT_THAT(meters(), HasSubstr("EAST, by Slurm's accounting: 2.50 kWh in 9000 s of 1 jobs (of "
                                    "1), 1.00 kW on average (the model has 3.40 kWh)"));
    EXPECT_THAT(meters(), HasSubstr("other jobs on these nodes"));
    files.run.sites[0].power->pue = 2;
    EXPECT_THAT(meters(), HasSubstr("(the model has 3.40 kWh)")) << "both without the building";
    files.run.sites[0].power->pue = 1;
    files.run.sites[0].launch.sbatch_options = {"--exclusive"};
    EXPECT_THAT(meters(), HasSubstr("the jobs had whole nodes"));
    EXPECT_EQ(account_of(files).sites[0].bill.total, before);
    files.clock = TimeScale{at(0), at(0), 2};
    EXPECT_EQ(meters(), "") << "a replay has the power of other hardware";
}

}  // namespace
}  // namespace curtail::account
