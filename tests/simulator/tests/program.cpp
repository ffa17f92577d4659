// SPDX-License-Identifier: Apache-2.0
// The program curtail-sim.
#include <gmock/gmock.h>

#include "base/core/json.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"

namespace curtail {
namespace {

using testing::HasSubstr;

test::Outcome ask(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), {test::program_path("curtail-sim"), "rounds"});
    return test::run_program(std::move(arguments), std::chrono::seconds{60});
}

TEST(SimProgram, PrintsWhatItSimulated)
{
    auto const outcome = ask({"--seeds", "5-8", "--steps", "200", "--threads", "2", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    auto const document = json::parse(outcome.output, "output").value();
    auto const& object = *document.as_object();
    EXPECT_EQ(object.integer_at("first_seed"), 5);
    EXPECT_EQ(object.integer_at("last_seed"), 8);
    EXPECT_EQ(object.integer_at("threads"), 2);
    EXPECT_GE(object.integer_at("steps").value(), 4 * 200);
    EXPECT_GT(object.number_at("steps_per_s").value(), 0);
    EXPECT_TRUE(object.find("failures")->as_array()->empty());
}

TEST(SimProgram, TakesOneSeed)
{
    auto const outcome = ask({"--seeds", "5", "--steps", "1"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.output, HasSubstr("seeds 5-5: 1 runs"));
}

TEST(SimProgram, RefusesSeedsThatAreNoRange)
{
    for (auto const* text : {"", "a", "3-", "-3", "4-3", "1-2-3", "1..2", "0-9999999999999"}) {
        auto const outcome = ask({"--seeds", text});
        EXPECT_EQ(outcome.code, 64) << text;
        EXPECT_THAT(outcome.output, HasSubstr("--seeds")) << text;
    }
}

}  // namespace
}  // namespace curtail
