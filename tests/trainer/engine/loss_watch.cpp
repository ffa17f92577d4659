// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/loss_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/engine/recorder.hpp"

namespace curtail::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t vocabulary = 300;
double const uniform = std::log(300.0);

// The steps, from 1, at which the watch reports these losses.
std::vector<int> reports(std::vector<std::optional<double>> const& losses)
{
    LossWatch watch(vocabulary);
    std::vector<int> steps;
    for (int step = 1; auto const& loss : losses) {
        if (watch.add(loss)) steps.push_back(step);
        ++step;
    }
    return steps;
}

std::vector<std::optional<double>> repeated(int steps, std::optional<double> loss)
{
    return std::vector(static_cast<std::size_t>(steps), loss);
}

TEST(LossWatch, ReportsAHighLossOnceAfterTheFirstHundredSteps)
{
    EXPECT_THAT(reports(repeated(500, uniform)), ElementsAre(200));
    EXPECT_THAT(reports(repeated(199, 99.0)), IsEmpty());
    EXPECT_THAT(reports(repeated(500, uniform - 0.001)), IsEmpty());
}

TEST(LossWatch, CountsOnlyStepsInARow)
{
    auto losses = repeated(500, 6.0);
    for (std::size_t i = 150; i < losses.size(); i += 90) losses[i] = 5.0;
    EXPECT_THAT(reports(losses), IsEmpty());
    losses = repeated(500, 6.0);
    losses[150] = 5.0;
    EXPECT_THAT(reports(losses), ElementsAre(251));
}

TEST(LossWatch, ALossThatIsNotFiniteIsHigh)
{
    auto losses = repeated(300, 6.0);
    losses[150] = std::nullopt;
    EXPECT_THAT(reports(losses), ElementsAre(200));
}

TEST(Recorder, WarnsOnceOfALossThatStaysHigh)
{
    test::TemporaryFolder const folder;
    std::vector<std::string> warnings;
    Log const log([&](Level, std::string_view text) { warnings.emplace_back(text); });
    Recorder recorder(folder.path(), "A", "7", log, {}, LossWatch(vocabulary));
    for (int step = 1; step <= 400; ++step) recorder.step({{}, step, 1, {}, {}, 6.0, 1, {}}, {});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0], HasSubstr("the loss has been at least ln(vocabulary) = 5.704 for 100 "
                                       "steps in a row (now 6.000): the model learns nothing"));
    auto const events = runlog::read_events(folder / "events.jsonl").value().events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].type, "high-loss");
    EXPECT_EQ(events[0].details.number_at("loss"), 6.0);
    EXPECT_EQ(events[0].integer("steps"), 100);
}

}  // namespace
}  // namespace curtail::trainer
