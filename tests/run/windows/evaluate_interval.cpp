// SPDX-License-Identifier: Apache-2.0
#include "run/windows/evaluate_interval.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace curtail::windows {
namespace {

Time const start = parse_time("2026-01-11T17:00Z").value();
Time at(std::int64_t seconds) { return start + Seconds{seconds}; }
SamplePoint point(std::int64_t seconds, std::optional<double> g)
{
    return {at(seconds), g ? std::optional(GramsPerKwh{*g}) : std::nullopt};
}
Rule const defaults{};

// Each change as text, so that mismatches print readably.
std::vector<std::string> brief(std::vector<PhaseChange> const& changes)
{
    std::vector<std::string> lines;
    lines.reserve(changes.size());
    for (auto const& c : changes)
        lines.push_back(std::to_string((c.time - start) / Seconds{1}) + " " +
                        std::string(to_string(c.from)) + "-" + std::string(to_string(c.to)) + " " +
                        std::string(to_string(c.reason)));
    return lines;
}
using Lines = std::vector<std::string>;

TEST(EvaluateInterval, AppliesEachMissedSampleAtItsOwnTime)
{
    std::vector<SamplePoint> const points{point(0, 400), point(300, 50), point(600, 400),
                                          point(900, 60), point(1200, 70)};
    auto const result = evaluate_interval({}, at(0), points, defaults, at(1250));
    EXPECT_EQ(brief(result.changes),
              (Lines{"300 closed-open clean", "600 open-closing turned-dirty",
                     "900 closing-open recovered"}));
    EXPECT_EQ(result.state, (WindowState{Phase::open, {}}));
    EXPECT_EQ(result.until, at(1250));
    EXPECT_EQ(result.intensity, GramsPerKwh{70});
    EXPECT_EQ(result.explanation, "70 g/kWh is not above 100: window stays open");
    EXPECT_EQ(result.changes.front().explanation, "50 g/kWh is below 100: window opens");
}

TEST(EvaluateInterval, MissingSamplesTurnStaleAndCloseTheWindow)
{
    std::vector<SamplePoint> const points{point(0, 50)};
    auto const result =
        evaluate_interval({}, at(0), points, {.max_age = Seconds{700}, .thresholds = {}}, at(5000));
    EXPECT_EQ(brief(result.changes), (Lines{"0 closed-open clean", "700 open-closing no-signal",
                                            "1300 closing-closed delay-over"}));
}

TEST(EvaluateInterval, EmptySampleMeansNoSignalAtOnce)
{
    std::vector<SamplePoint> const points{point(0, 50), point(300, {}), point(600, 50)};
    auto const result = evaluate_interval({}, at(0), points, defaults, at(600));
    EXPECT_EQ(brief(result.changes), (Lines{"0 closed-open clean", "300 open-closing no-signal",
                                            "600 closing-open recovered"}));
}

TEST(EvaluateInterval, CloseDelayEndsBetweenSamples)
{
    std::vector<SamplePoint> const points{point(0, 50), point(300, 400), point(600, 400),
                                          point(900, 400)};
    Rule const rule{
        .max_age = Seconds{600},
        .thresholds = {.open_below = {100}, .close_above = {100}, .close_delay = Seconds{450}}};
    EXPECT_EQ(brief(evaluate_interval({}, at(0), points, rule, at(749)).changes),
              (Lines{"0 closed-open clean", "300 open-closing turned-dirty"}));
    EXPECT_EQ(brief(evaluate_interval({}, at(0), points, rule, at(750)).changes),
              (Lines{"0 closed-open clean", "300 open-closing turned-dirty",
                     "750 closing-closed delay-over"}));
}

TEST(EvaluateInterval, CleanSampleAtTheEndOfTheDelayRecovers)
{
    std::vector<SamplePoint> const points{point(0, 50), point(300, 400), point(900, 50)};
    EXPECT_EQ(brief(evaluate_interval({}, at(0), points, defaults, at(900)).changes).back(),
              "900 closing-open recovered");
}

TEST(EvaluateInterval, ZeroDelayClosesTheWindowWhenTheSignalTurnsDirty)
{
    std::vector<SamplePoint> const points{point(0, 50), point(300, 400)};
    Rule const rule{
        .max_age = Seconds{600},
        .thresholds = {.open_below = {100}, .close_above = {100}, .close_delay = Seconds{0}}};
    EXPECT_EQ(brief(evaluate_interval({}, at(0), points, rule, at(300)).changes),
              (Lines{"0 closed-open clean", "300 open-closing turned-dirty",
                     "300 closing-closed delay-over"}));
}

TEST(EvaluateInterval, IgnoresFutureSamples)
{
    std::vector<SamplePoint> const points{point(0, 400), point(300, 50)};
    EXPECT_TRUE(evaluate_interval({}, at(0), points, defaults, at(299)).changes.empty());
}

TEST(EvaluateInterval, LateSampleCountsFromTheLastEvaluationOn)
{
    auto const first =
        evaluate_interval({}, at(310), std::vector{point(0, 400)}, defaults, at(310));
    auto const second = evaluate_interval(
        first.state, first.until, std::vector{point(0, 400), point(300, 50)}, defaults, at(370));
    EXPECT_EQ(brief(second.changes), (Lines{"310 closed-open clean"}));
}

TEST(EvaluateInterval, TheLastDirtyPeriodEndsWithTheNextSample)
{
    std::vector<SamplePoint> const points{point(0, 400), point(300, 50), point(600, 400)};
    auto const result = evaluate_interval({}, at(0), points, defaults, at(700));
    EXPECT_EQ(result.changes.at(0).last_above, at(300));
    EXPECT_EQ(result.last_above, at(700));
}

TEST(EvaluateInterval, AMissingSignalIsNoDirtyPeriod)
{
    auto const result = evaluate_interval({}, at(0), std::vector{point(0, 50)}, defaults, at(5000));
    EXPECT_EQ(result.state.phase, Phase::closed);
    EXPECT_FALSE(result.last_above);
}

TEST(EvaluateInterval, ClockRunningBackwardsChangesNothing)
{
    std::vector<SamplePoint> const points{point(0, 400), point(300, 50)};
    auto const result = evaluate_interval({Phase::open, {}}, at(400), points, defaults, at(100));
    EXPECT_TRUE(result.changes.empty());
    EXPECT_EQ(result.until, at(400));
    EXPECT_EQ(result.state, (WindowState{Phase::open, {}}));
}

TEST(EvaluateInterval, LastOfTwoSamplesAtOneTimeCounts)
{
    std::vector<SamplePoint> const points{point(0, 400), point(0, 50)};
    EXPECT_EQ(brief(evaluate_interval({}, at(0), points, defaults, at(0)).changes),
              (Lines{"0 closed-open clean"}));
}

TEST(EvaluateInterval, NoSamplesMeanNoSignal)
{
    auto const result = evaluate_interval({}, at(0), {}, defaults, at(100));
    EXPECT_TRUE(result.changes.empty());
    EXPECT_EQ(result.explanation, "no fresh signal, which counts as dirty: window stays closed");
}

TEST(EvaluateInterval, BrokenContractsThrow)
{
    std::vector<SamplePoint> const disordered{point(300, 1), point(0, 1)};
    EXPECT_THROW((void)evaluate_interval({}, at(0), disordered, defaults, at(0)),
                 std::invalid_argument);
    Rule reversed;
    reversed.thresholds.open_below = {200};
    EXPECT_THROW((void)evaluate_interval({}, at(0), {}, reversed, at(0)), std::invalid_argument);
    EXPECT_THROW(
        (void)evaluate_interval({}, at(0), {}, {.max_age = Seconds{0}, .thresholds = {}}, at(0)),
        std::invalid_argument);
}

// A random day: gaps, empty samples, values around the thresholds, and a rule.
struct Day {
    std::vector<SamplePoint> points;
    Rule rule;
    std::int64_t length_s;
};

Day random_day(std::mt19937_64& random)
{
    auto const pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    Day day;
    day.length_s = pick(1, 4000);
    day.rule.max_age = Seconds{pick(1, 500)};
    day.rule.thresholds.open_below = {static_cast<double>(pick(80, 120))};
    day.rule.thresholds.close_above = {day.rule.thresholds.open_below.value +
                                       static_cast<double>(pick(0, 1) * pick(0, 40))};
    day.rule.thresholds.close_delay = Seconds{pick(0, 400)};
    for (std::int64_t t = pick(-300, 300); t <= day.length_s; t += pick(1, 300))
        day.points.push_back(point(
            t, pick(0, 9) == 0 ? std::optional<double>{} : static_cast<double>(pick(60, 180))));
    return day;
}

// A second implementation of the evaluation: one step for every second.
std::vector<std::string> second_by_second(Day const& day)
{
    std::vector<PhaseChange> changes;
    WindowState state;
    for (std::int64_t t = 0; t <= day.length_s; ++t) {
        std::optional<GramsPerKwh> intensity;
        for (auto const& r : day.points)
            if (r.time <= at(t))
                intensity = at(t) - r.time < day.rule.max_age ? r.intensity : std::nullopt;
        for (int twice = 0; twice < 2;
             ++twice) {  // a delay of zero ends in the second in which it starts
            auto const decision = advance(state, intensity, at(t), day.rule.thresholds);
            if (decision.state.phase != state.phase)
                changes.push_back(
                    {at(t), state.phase, decision.state.phase, decision.reason, {}, {}});
            state = decision.state;
        }
    }
    return brief(changes);
}

class EvaluateRandomDays : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EvaluateRandomDays, ResultDoesNotDependOnTheCalls)
{
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    std::mt19937_64 random(GetParam());
    for (int day_number = 0; day_number < 40; ++day_number) {
        auto const day = random_day(random);
        auto const whole = evaluate_interval({}, at(0), day.points, day.rule, at(day.length_s));
        ASSERT_EQ(brief(whole.changes), second_by_second(day)) << "day " << day_number;

        WindowState state;
        Time until = at(0);
        std::optional<Time> last_above;
        std::vector<PhaseChange> changes;
        std::vector<std::int64_t> nows{day.length_s};
        for (int i = 0; i < 1000; ++i)
            nows.push_back(
                std::uniform_int_distribution<std::int64_t>(0, day.length_s * 1000)(random) / 1000);
        std::sort(nows.begin(), nows.end());
        for (std::size_t i = 1; i < nows.size(); i += 7)
            std::swap(nows[i - 1], nows[i]);  // clocks step back a little
        nows.push_back(day.length_s);
        for (auto now : nows) {
            // A poller passes only samples that still matter.
            auto const first = std::lower_bound(
                day.points.begin(), day.points.end(), SamplePoint{until - day.rule.max_age, {}},
                [](auto const& a, auto const& b) { return a.time < b.time; });
            auto const part = evaluate_interval(state, until, {first, day.points.end()}, day.rule,
                                                at(now), last_above);
            state = part.state;
            until = part.until;
            last_above = part.last_above;
            changes.insert(changes.end(), part.changes.begin(), part.changes.end());
        }
        ASSERT_EQ(changes, whole.changes) << "day " << day_number;
        ASSERT_EQ(state, whole.state) << "day " << day_number;
        ASSERT_EQ(until, whole.until) << "day " << day_number;
        ASSERT_EQ(last_above, whole.last_above) << "day " << day_number;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EvaluateRandomDays, testing::Range<std::uint64_t>(1, 11));

}  // namespace
}  // namespace curtail::windows
