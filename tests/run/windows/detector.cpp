// SPDX-License-Identifier: Apache-2.0
#include "run/windows/detector.hpp"

#include <gtest/gtest.h>

namespace curtail::windows {
namespace {

Time const noon = parse_time("2026-01-11T12:00Z").value();
Thresholds const hysteresis{.open_below = {100}, .close_above = {150}, .close_delay = Seconds{600}};
WindowState const closed{};
WindowState const open{Phase::open, {}};
WindowState const closing{Phase::closing, noon - Seconds{300}};

struct Step {
    char const* name;
    WindowState before;
    std::optional<GramsPerKwh> intensity;
    WindowState after;
    Reason reason;
    char const* sentence;
};

class Detector : public testing::TestWithParam<Step> {};

TEST_P(Detector, StepFollowsTheTable)
{
    auto const& step = GetParam();
    auto const decision = advance(step.before, step.intensity, noon, hysteresis);
    EXPECT_EQ(decision.state, step.after);
    EXPECT_EQ(decision.reason, step.reason);
    EXPECT_EQ(explain(step.before, decision, step.intensity, noon, hysteresis), step.sentence);
}

TEST_P(Detector, RepeatingAStepAtTheSameTimeChangesNothing)
{
    auto const& step = GetParam();
    auto const once = advance(step.before, step.intensity, noon, hysteresis);
    EXPECT_EQ(advance(once.state, step.intensity, noon, hysteresis).state, once.state);
}

WindowState closing_since(Seconds ago) { return {Phase::closing, noon - ago}; }

INSTANTIATE_TEST_SUITE_P(
    Table, Detector,
    testing::Values(
        Step{"OpensBelowTheLowerThreshold", closed, GramsPerKwh{68.945984}, open, Reason::clean,
             "69 g/kWh is below 100: window opens"},
        Step{"StaysClosedAtTheLowerThreshold", closed, GramsPerKwh{100}, closed,
             Reason::still_dirty, "100 g/kWh is not below 100: window stays closed"},
        Step{"StaysClosedBetweenTheThresholds", closed, GramsPerKwh{120}, closed,
             Reason::still_dirty, "120 g/kWh is not below 100: window stays closed"},
        Step{"StaysClosedWithoutSignal", closed, std::nullopt, closed, Reason::no_signal,
             "no fresh signal, which counts as dirty: window stays closed"},
        Step{"StaysOpenAtTheUpperThreshold", open, GramsPerKwh{150}, open, Reason::still_clean,
             "150 g/kWh is not above 150: window stays open"},
        Step{"StartsToCloseAboveTheUpperThreshold", open, GramsPerKwh{150.004},
             WindowState{Phase::closing, noon}, Reason::turned_dirty,
             "150.004 g/kWh is above 150: window closes in 600 s unless the signal turns clean"},
        Step{"StartsToCloseWithoutSignal", open, std::nullopt, WindowState{Phase::closing, noon},
             Reason::no_signal,
             "no fresh signal, which counts as dirty: window closes in 600 s unless the signal "
             "turns clean"},
        Step{"StaysClosingWhileTheDelayRuns", closing, GramsPerKwh{463}, closing,
             Reason::delay_running,
             "463 g/kWh is above 150, dirty for 300 s: window closes in 300 s unless the "
             "signal turns clean"},
        Step{"StaysClosingWithoutSignal", closing, std::nullopt, closing, Reason::delay_running,
             "no fresh signal, dirty for 300 s: window closes in 300 s unless the signal turns "
             "clean"},
        Step{"RecoversAtTheUpperThreshold", closing, GramsPerKwh{150}, open, Reason::recovered,
             "150 g/kWh is no longer above 150: window stays open"},
        Step{"StaysClosingOneSecondBeforeTheDelayEnds", closing_since(Seconds{599}),
             GramsPerKwh{463}, closing_since(Seconds{599}), Reason::delay_running,
             "463 g/kWh is above 150, dirty for 599 s: window closes in 1 s unless the signal "
             "turns clean"},
        Step{"ClosesWhenTheDelayIsOver", closing_since(Seconds{600}), GramsPerKwh{463}, closed,
             Reason::delay_over,
             "463 g/kWh is above 150, dirty for 600 s, limit 600 s: window closes"},
        Step{"ClosesWithoutSignalWhenTheDelayIsOver", closing_since(Seconds{600}), std::nullopt,
             closed, Reason::delay_over,
             "no fresh signal, dirty for 600 s, limit 600 s: window closes"},
        Step{"RecoversEvenWhenTheDelayIsOver", closing_since(Seconds{6000}), GramsPerKwh{-5}, open,
             Reason::recovered, "-5 g/kWh is no longer above 150: window stays open"}),
    [](auto const& tested) { return tested.param.name; });

TEST(WindowDetector, ClosingStateWithoutSinceThrows)
{
    EXPECT_THROW((void)advance({Phase::closing, {}}, std::nullopt, noon, {}), std::logic_error);
}

TEST(WindowDetector, SentenceNeverRoundsAcrossTheThreshold)
{
    auto const decision = advance(closed, GramsPerKwh{99.98}, noon, {});
    EXPECT_EQ(explain(closed, decision, GramsPerKwh{99.98}, noon, {}),
              "99.98 g/kWh is below 100: window opens");
}

TEST(WindowDetector, JobsMayRunWhileOpenAndClosing)
{
    EXPECT_TRUE(may_run(Phase::open));
    EXPECT_TRUE(may_run(Phase::closing));
    EXPECT_FALSE(may_run(Phase::closed));
}

TEST(WindowState, JsonReadsBackAsWritten)
{
    for (auto const& state : {closed, open, closing}) {
        auto const text = json::to_string(to_json(state));
        auto const value = json::parse(text, "state").value();
        json::ObjectReader r(value, "state");
        EXPECT_EQ(read_window_state(r), state) << text;
        EXPECT_FALSE(r.finish()) << text;
    }
}

TEST(WindowState, ContradictoryJsonIsRejected)
{
    for (auto const* text :
         {R"({"phase":"closing","closing_since":null})",
          R"({"phase":"open","closing_since":"2026-01-11T12:00:00Z"})", R"({"phase":"ajar"})",
          R"({"phase":"closing","closing_since":"2026-01-11T12:00:00"})"}) {
        auto const value = json::parse(text, "state").value();
        json::ObjectReader r(value, "state");
        (void)read_window_state(r);
        EXPECT_TRUE(r.finish()) << text;
    }
}

}  // namespace
}  // namespace curtail::windows
