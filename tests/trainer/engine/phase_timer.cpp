// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/phase_timer.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::trainer {
namespace {

void wait_a_little()
{
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < end) {}
}

// A step with two micro-batches.
void step(PhaseTimer& timer)
{
    timer.begin_step();
    for (int i = 0; i < 2; ++i) {
        timer.end(StepPhase::data);
        wait_a_little();
        timer.end(StepPhase::compute);
    }
    timer.end(StepPhase::exchange);
    wait_a_little();
    timer.end(StepPhase::update);
    timer.end(StepPhase::exchange);
    timer.record(timer.times());
}

TEST(PhaseTimer, AddsUpThePhasesOfOneStep)
{
    PhaseTimer timer;
    step(timer);
    step(timer);
    auto const phases = timer.times().phases();
    EXPECT_GE(phases.compute.count(), 0.004);
    EXPECT_LT(phases.compute.count(), 1.0) << "only of the last step";
    EXPECT_GE(phases.update.count(), 0.002);
    EXPECT_LT(phases.data.count(), phases.compute.count());
}

TEST(PhaseTimer, WritesATraceOfTheChosenSteps)
{
    test::TemporaryFolder const folder;
    auto const file = folder / "trace.json";
    PhaseTimer timer;
    timer.trace({file, 3, 2, 4});
    for (int i = 0; i < 5; ++i) step(timer);
    EXPECT_FALSE(std::filesystem::exists(file));
    for (int i = 0; i < 5; ++i) step(timer);
    auto const document = json::parse_file(file);
    ASSERT_TRUE(document) << document.error().message();
    auto const& events = *document->as_object()->find("traceEvents")->as_array();
    ASSERT_EQ(events.size(), 4 * 7);
    double end = 0;
    for (auto const& value : events) {
        auto const& event = *value.as_object();
        EXPECT_EQ(event.text_at("ph"), "X");
        EXPECT_EQ(event.integer_at("pid"), 3);
        EXPECT_GE(*event.number_at("ts"), end - 1e-3) << "the phases follow each other";
        end = *event.number_at("ts") + *event.number_at("dur");
    }
    EXPECT_EQ(events.front().as_object()->text_at("name"), "data");
    EXPECT_FALSE(timer.trace_error());
}

TEST(PhaseTimer, KeepsTheErrorOfATraceThatCannotBeWritten)
{
    PhaseTimer timer;
    timer.trace({"/proc/no/such/folder/trace.json", 0, 0, 1});
    step(timer);
    EXPECT_TRUE(timer.trace_error());
}

}  // namespace
}  // namespace curtail::trainer
