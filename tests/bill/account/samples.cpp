// SPDX-License-Identifier: Apache-2.0
// What the pollers' samples say must fit the decisions, and the times at which the pollers ran.
#include "bill/account/checked_run.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;

class Samples : public test::CheckedRun {
  protected:
    Samples() { files.trace_from_file = false; }
    std::vector<SamplePoint>& points() { return files.trace[0].points; }
    void decide(double hours, double intensity)
    {
        poller(hours, "decision", "EAST",
               {{"from", "closed"},
                {"to", "open"},
                {"reason", "clean"},
                {"signal_time", format_time(at(hours))},
                {"intensity_gco2_per_kwh", intensity}});
        poller(hours, "window-open", "EAST",
               {{"window", "x"}, {"signal_time", format_time(at(hours))}});
        auto& max_age = files.run.sites[0].signal_max_age;
        max_age = std::chrono::hours{2};
    }
};

TEST_F(Samples, WithGapsHaveANote)
{
    EXPECT_THAT(titles(), testing::IsEmpty());
    points().erase(points().begin() + 2);
    EXPECT_THAT(titles(), testing::ElementsAre("Gaps in the samples"));
    EXPECT_TRUE(
        has_note("EAST poller signals.jsonl: the samples of E have 1 gaps longer than a sample "
                 "applies, from 2026-03-01T01:00:00Z to 2026-03-01T03:00:00Z"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Samples, ThatBeginAfterThePollerHaveANote)
{
    points().erase(points().begin(), points().begin() + 2);
    EXPECT_THAT(titles(), testing::ElementsAre("Gaps in the samples"));
    EXPECT_TRUE(has_note("from 2026-03-01T00:00:00Z to 2026-03-01T02:00:00Z"));
}

TEST_F(Samples, ThatEndedBeforeThePollerBeganHaveANote)
{
    points().insert(points().begin(), {at(-1), GramsPerKwh{900}, std::chrono::hours{1}});
    EXPECT_THAT(titles(), testing::IsEmpty()) << "it applied when the poller began";
    points().insert(points().begin(), {at(-2), GramsPerKwh{900}, std::chrono::hours{1}});
    EXPECT_THAT(titles(), testing::ElementsAre("Samples before the poller"));
    EXPECT_TRUE(has_note("EAST poller signals.jsonl: 1 samples of E, from 2026-02-28T22:00:00Z"));
}

// A poller decides with the newest sample that it has.
TEST_F(Samples, OfADecisionAreTheNewestOnes)
{
    decide(2.1, 150);
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Decisions and samples differ")));
    files = test::small_run();
    files.trace_from_file = false;
    decide(2.1, 80);
    EXPECT_THAT(titles(), testing::Contains("Decisions and samples differ"));
    files.wrong_samples.receipts.resize(2);
    auto& received = files.wrong_samples.receipts[0][{"E"}];
    received = {{at(1), at(1.01)}, {at(2), at(2.05)}};
    EXPECT_THAT(titles(), testing::Contains("Decisions and samples differ"));
    received = {{at(1), at(1.01)}, {at(2), at(2.2)}};
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Decisions and samples differ")))
        << "the newest sample came late";
}

TEST_F(Samples, NotesOfALiveRunNameNoClockFile)
{
    decide(2.1, 150);
    for (auto& event : files.poller_events)
        if (event.type == "decision") event.details.set("signal_time", format_time(at(2.2)));
    EXPECT_THAT(titles(), testing::Contains("Clock and decisions differ"));
    EXPECT_FALSE(has_note("clock.json"));
    EXPECT_TRUE(has_note("is later than the line"));
}

}  // namespace
}  // namespace curtail::account
