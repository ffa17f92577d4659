// SPDX-License-Identifier: Apache-2.0
// What the pollers' samples say must fit the decisions, and the times at which the pollers ran.
#include "bill/account/checked_run.hpp"
#include "run/runlog/configuration.hpp"

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
        has_note("EAST poller signals.jsonl: the samples of E have 1 gaps longer than the "
                 "period of the sample before, from 2026-03-01T01:00:00Z to 2026-03-01T03:00:00Z"));
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
    received = {{at(1), at(2.08)}, {at(2), at(3.5)}};
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Decisions and samples differ")))
        << "the newest sample came late";
    received = {{at(1), at(2.2)}, {at(2), at(3.5)}};
    EXPECT_THAT(titles(), testing::Contains("Decisions and samples differ"))
        << "the sample with the intensity came late, too";
}

// A poller received each sample a minute late, and decided for the time of the sample.
class SamplesOfPhases : public Samples {
  protected:
    SamplesOfPhases()
    {
        for (auto& one : files.run.sites) one.signal_max_age = std::chrono::hours{2};
        files.wrong_samples.receipts.resize(2);
        for (auto const& point : points()) receive(point.time, std::chrono::minutes{1});
        decide(0, "closed", "open", GramsPerKwh{50});
        decide(2, "open", "closing", GramsPerKwh{150});
        decide(2.25, "closing", "closed", GramsPerKwh{150});
        decide(4, "closed", "open", GramsPerKwh{50});
        poller(5, "accounting", "EAST", {});
    }
    void receive(Time time, Millis later)
    {
        files.wrong_samples.receipts[0][{"E"}][time] = time + later;
    }
    void decide(double hours, char const* from, char const* to,
                std::optional<GramsPerKwh> intensity)
    {
        poller(hours + 0.02, "decision", "EAST",
               {{"from", from},
                {"to", to},
                {"reason", "clean"},
                {"signal_time", format_time(at(hours))},
                {"intensity_gco2_per_kwh", json::value_or_null(intensity)}});
    }
    bool differ()
    {
        auto const all = titles();
        return std::ranges::count(all, "Decisions and samples differ") > 0;
    }
};

TEST_F(SamplesOfPhases, ThatFitRaiseNoDoubt) { EXPECT_FALSE(differ()); }

TEST_F(SamplesOfPhases, ThatAreDirtyInAnOpenWindowHaveANote)
{
    points()[1].intensity = GramsPerKwh{240};
    EXPECT_TRUE(differ());
    EXPECT_TRUE(
        has_note("EAST poller events.jsonl: 1 samples of signals.jsonl, from "
                 "2026-03-01T01:01:00Z to 2026-03-01T02:00:00Z, do not fit the phase"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(SamplesOfPhases, ThatAreCleanInAClosedWindowHaveANote)
{
    points()[3].intensity = GramsPerKwh{90};
    EXPECT_TRUE(differ());
}

TEST_F(SamplesOfPhases, ThatCameLateOrSayNothingAreNotCompared)
{
    points()[1].intensity = GramsPerKwh{240};
    receive(at(1), std::chrono::hours{1});
    EXPECT_FALSE(differ()) << "the next sample had come";
    receive(at(1), std::chrono::minutes{59});
    EXPECT_TRUE(differ());
    points()[1].intensity.reset();
    EXPECT_FALSE(differ()) << "others contradict it";
}

TEST_F(SamplesOfPhases, BetweenTheThresholdsFitAnOpenAndAClosedWindow)
{
    for (auto& one : files.run.sites) one.window = {GramsPerKwh{60}, GramsPerKwh{400}};
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    decide(0, "closed", "open", GramsPerKwh{50});
    EXPECT_FALSE(differ()) << "80, 150 and 350 keep it open";
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    decide(4, "closed", "open", GramsPerKwh{50});
    EXPECT_TRUE(differ()) << "50 would have opened it at 0:00";
    points()[0].intensity = GramsPerKwh{60};
    EXPECT_FALSE(differ());
}

// The poller knew each of them when it logged that it had none.
TEST_F(SamplesOfPhases, OfADecisionWithoutASignalHaveANote)
{
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    decide(0, "closed", "open", GramsPerKwh{50});
    decide(2, "open", "closing", {});
    decide(4, "closing", "open", GramsPerKwh{50});
    EXPECT_TRUE(differ());
    points()[2].intensity.reset();
    EXPECT_FALSE(differ()) << "the provider had no value";
    points()[2].intensity = GramsPerKwh{150};
    receive(at(2), std::chrono::hours{2});
    EXPECT_FALSE(differ()) << "its value came later";
}

TEST_F(SamplesOfPhases, ThatAreStaleAreNone)
{
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    points().erase(points().begin() + 2);
    decide(0, "closed", "open", GramsPerKwh{50});
    decide(2, "open", "closing", {});
    decide(4, "closing", "open", GramsPerKwh{50});
    EXPECT_TRUE(differ()) << "the sample of 1:00 holds until 3:00";
    files.run.sites[0].signal_max_age = std::chrono::hours{1};
    EXPECT_FALSE(differ());
}

// An honest poller can have decided with an older sample of the same intensity, and without one if
// the provider had no value at first.
TEST_F(SamplesOfPhases, ThatCameLaterWithTheSameValueOrInsteadOfNoneAreNoContradiction)
{
    points()[2].intensity = points()[1].intensity;
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    decide(0, "closed", "open", GramsPerKwh{50});
    decide(3, "open", "closing", GramsPerKwh{350});
    decide(3.25, "closing", "closed", GramsPerKwh{350});
    decide(4, "closed", "open", GramsPerKwh{350 - 300});
    points()[3].time = at(3.25);
    points().insert(points().begin() + 3, {at(3), GramsPerKwh{350}, std::chrono::hours{1}});
    receive(at(3), std::chrono::minutes{1});
    receive(at(3.25), std::chrono::minutes{5});
    EXPECT_FALSE(differ()) << "350 of 3:15 came later than the decision of 3:15";
    std::erase_if(files.poller_events, [](auto const& e) { return e.text("to") == "closing"; });
    decide(3, "open", "closing", {});
    receive(at(3), std::chrono::minutes{9});
    EXPECT_FALSE(differ()) << "the provider had no value of 3:00 at first";
    files.wrong_samples.receipts[0][{"E"}].erase(at(3));
    EXPECT_FALSE(differ()) << "only another site's poller received a value of 3:00";
}

TEST_F(SamplesOfPhases, ThatAreContradictedSayNothingAboutADecision)
{
    points()[2].intensity.reset();
    EXPECT_FALSE(differ());
}

TEST_F(SamplesOfPhases, OfDecisionsOutOfOrderAreNotCompared)
{
    points()[1].intensity = GramsPerKwh{240};
    auto& events = files.poller_events;
    auto const last = std::ranges::find_if(
        events, [](auto const& e) { return e.type == "decision" && e.text("to") == "closed"; });
    last->details.set("signal_time", format_time(at(1.9)));
    EXPECT_THAT(titles(), testing::Contains("Decisions out of order"));
    EXPECT_FALSE(has_note("do not fit the phase"));
}

// One changed word would let the window be open at any intensity.
TEST_F(SamplesOfPhases, OfADecisionThatCannotFollowTheOneBeforeHaveANote)
{
    auto const change = [&](char const* to, char const* key, char const* value) {
        for (auto& e : files.poller_events)
            if (e.type == "decision" && e.text("to") == to && e.time > at(1))
                e.details.set(key, value);
    };
    change("closing", "from", "closing");
    EXPECT_THAT(titles(), testing::Contains("Decisions out of order"));
    EXPECT_TRUE(
        has_note("1 decisions, from 2026-03-01T00:00:00Z to 2026-03-01T02:00:00Z, cannot "
                 "follow the one before"));
    change("closing", "from", "open");
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Decisions out of order")));
    change("closed", "signal_time", "2026-03-01T02:05:00Z");
    EXPECT_THAT(titles(), testing::Contains("Decisions out of order")) << "before the close delay";
}

TEST_F(SamplesOfPhases, WithoutAnyDecisionMustNotOpenTheWindow)
{
    std::erase_if(files.poller_events, [](auto const& e) { return e.site == "EAST"; });
    poller(0, "configuration", "EAST", {});
    poller(5, "accounting", "EAST", {});
    EXPECT_TRUE(differ());
    for (auto& point : points()) point.intensity = GramsPerKwh{240};
    EXPECT_FALSE(differ());
}

// A poller that has lost its state logs its settings again, and begins with a closed window.
TEST_F(SamplesOfPhases, AfterALossOfTheStateAreThoseOfAClosedWindow)
{
    auto const log = [&](double hours) {
        runlog::Configuration configuration;
        configuration.files = {{"run.json", "{}"}};
        auto event = runlog::to_event(configuration, at(hours), "EAST");
        files.poller_events.insert(
            std::ranges::upper_bound(files.poller_events, event.time, {}, &Event::time), event);
    };
    std::erase_if(files.poller_events, [](auto const& e) { return e.type == "decision"; });
    decide(0, "closed", "open", GramsPerKwh{50});
    decide(4, "closed", "open", GramsPerKwh{50});
    EXPECT_TRUE(differ());
    log(0.01);
    EXPECT_TRUE(differ()) << "these are the first settings";
    log(2.01);
    EXPECT_FALSE(differ());
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Decisions out of order")));
}

// The journal of the samples may be behind that of the decisions.
TEST_F(SamplesOfPhases, ThatAreNotYetPublishedAreNoContradiction)
{
    points().pop_back();
    EXPECT_TRUE(differ());
    files.sites[0].publication.is_remote = true;
    EXPECT_FALSE(differ());
}

TEST_F(SamplesOfPhases, OfAReplayAreKnownAtOnce)
{
    files.wrong_samples.receipts.clear();
    auto const begin = files.poller_events;
    for (double const factor : {1, 2}) {
        files.clock = TimeScale{at(0), at(0), factor};
        files.poller_events = begin;
        for (auto& e : files.poller_events)
            e.time = at(0) + std::chrono::round<Millis>((e.time - at(0)) / factor);
        points()[1].intensity = GramsPerKwh{80};
        EXPECT_FALSE(differ()) << factor;
        points()[1].intensity = GramsPerKwh{240};
        EXPECT_TRUE(differ()) << factor;
    }
}

TEST_F(SamplesOfPhases, AtTheEndAreMissing)
{
    files.evaluated_until = at(6);
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Gaps in the samples")));
    files.evaluated_until = at(6.1);
    EXPECT_THAT(titles(), testing::Contains("Gaps in the samples"));
    EXPECT_TRUE(has_note("from 2026-03-01T04:00:00Z to 2026-03-01T06:06:00Z"));
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
