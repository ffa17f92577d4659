// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

using testing::SizeIs;
using Status = plan::Outcome::Status;

SiteId const a{"A"};
Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }

plan::Action submission(std::string intent)
{
    return {plan::ActionType::submit, {}, {"w1"}, {std::move(intent)}, "open"};
}
JournalEntry intent(int number, std::string const& name)
{
    return {number, at(number), a, submission(name), {}};
}
JournalEntry submitted(int number, std::string const& name, std::string job)
{
    return {number, at(number), a, submission(name),
            plan::Outcome{Status::done, {std::move(job)}, {}}};
}
runlog::Event job_event(int number, runlog::JobChange::Type type, std::string job)
{
    auto event = runlog::to_event(runlog::JobChange{type, "w1", std::move(job)}, at(number), "A");
    runlog::set_number(event, number);
    return event;
}

TEST(Recovery, AppliesTheJournalAndNumbersItsEvents)
{
    StoredState state;
    state.last_entry = 4;
    state.last_event = 9;
    FolderContents const contents{state, {intent(5, "i1"), submitted(6, "i1", "7")}, {}};
    auto const recovered = recover(contents, {a}, at(100));
    EXPECT_EQ(recovered.last_entry, 6);
    ASSERT_THAT(recovered.sites.at(a).jobs.jobs, SizeIs(1));
    EXPECT_FALSE(recovered.sites.at(a).jobs.intent);
    ASSERT_THAT(recovered.outbox, SizeIs(1));
    EXPECT_EQ(recovered.outbox[0].number, 10);
    EXPECT_EQ(recovered.outbox[0].event.type, "job-submitted");
}

TEST(Recovery, OpenIntentBecomesUncertainNow)
{
    auto const recovered = recover({StoredState{}, {intent(1, "i1")}, {}}, {a}, at(100));
    auto const open = recovered.sites.at(a).jobs.intent;
    ASSERT_TRUE(open);
    EXPECT_TRUE(open->uncertain);
    EXPECT_EQ(open->since, at(100));
}

TEST(Recovery, DropsEventsThatReachedTheLog)
{
    using Type = runlog::JobChange::Type;
    StoredState state;
    state.last_event = 3;
    for (int number : {2, 3}) state.outbox.push_back({number, job_event(number, Type::ended, "7")});
    auto const recovered =
        recover({state, {}, {job_event(1, Type::submitted, "7"), job_event(2, Type::ended, "7")}},
                {a}, at(100));
    ASSERT_THAT(recovered.outbox, SizeIs(1));
    EXPECT_EQ(recovered.outbox[0].number, 3);
}

TEST(Recovery, WithoutStateTheLaterJobOfAReusedNumberCounts)
{
    using Type = runlog::JobChange::Type;
    FolderContents const contents{
        {},
        {intent(1, "i1"), submitted(2, "i1", "7"), intent(3, "i2"), submitted(4, "i2", "7")},
        {job_event(1, Type::submitted, "7"), job_event(2, Type::ended, "7"),
         job_event(3, Type::submitted, "7"), job_event(4, Type::started, "7")}};
    auto const recovered = recover(contents, {a}, at(100));
    auto const& jobs = recovered.sites.at(a).jobs.jobs;
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].intent.value, "i2");
    EXPECT_EQ(jobs[0].running_since, at(4));
    EXPECT_EQ(recovered.last_event, 4);
    EXPECT_TRUE(recovered.outbox.empty()) << "the log contains these events";
}

TEST(Recovery, WithoutStateDecisionsUpToTheLastWrittenOneAreNotRepeated)
{
    auto const decision = [](int second) {
        return runlog::to_event(windows::PhaseChange{at(second), windows::Phase::closed,
                                                     windows::Phase::open, windows::Reason::clean},
                                at(second), "A");
    };
    auto const sites = recover({{}, {}, {decision(300)}}, {a, {"B"}}, at(900)).sites;
    EXPECT_TRUE(is_written(sites.at(a), decision(299)));
    EXPECT_TRUE(is_written(sites.at(a), decision(300)));
    EXPECT_FALSE(is_written(sites.at(a), decision(301)));
    EXPECT_FALSE(is_written(sites.at({"B"}), decision(300)));
}

}  // namespace
}  // namespace curtail::poll
