// SPDX-License-Identifier: Apache-2.0
// curtail-report from the command line: where it writes, and what it never overwrites.
#include <gmock/gmock.h>

#include "account/synthetic_run.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"

namespace curtail::report {
namespace {

using testing::HasSubstr;

class Program : public testing::Test {
  protected:
    Program() { account::test::write_synthetic_run(folder_.path(), {}); }

    // Returns the exit code; `printed` holds its output.
    int report(std::vector<std::string> const& more)
    {
        std::vector<std::string> words{test::program_path("curtail-report"),
                                       (folder_ / "run.json").string(), "--trace",
                                       (folder_ / "trace.csv").string(), "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        auto outcome = curtail::test::run_program(std::move(words));
        printed = std::move(outcome.output);
        return outcome.code;
    }
    std::string to(char const* file) const { return (folder_ / file).string(); }

    curtail::test::TemporaryFolder folder_;
    std::string printed;
};

TEST_F(Program, NeverOverwritesAnInput)
{
    auto const run = read_file(folder_ / "run.json").value();
    auto const trace = read_file(folder_ / "trace.csv").value();
    auto const clock = read_file(folder_ / "clock.json").value();
    for (char const* file : {"run.json", "other.json", "trace.csv", "run.html", "clock.html"})
        EXPECT_EQ(report({"--out", to(file)}), 64) << file;
    EXPECT_EQ(read_file(folder_ / "run.json").value(), run);
    EXPECT_EQ(read_file(folder_ / "trace.csv").value(), trace);
    EXPECT_EQ(read_file(folder_ / "clock.json").value(), clock);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other.json") ||
                 std::filesystem::exists(folder_ / "run.html"));
}

TEST_F(Program, PrintsTablesAndWritesTheDocumentEvenWithoutThePage)
{
    EXPECT_EQ(report({"--out", to("x.html"), "--plotly", to("none.js")}), 66);
    EXPECT_THAT(printed, HasSubstr("always on in"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "x.json"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x.html"));
}

TEST_F(Program, TellsWhetherTheLossIsBelowTheUnigramEntropy)
{
    std::vector<std::string> const nowhere{"--out", to("x.html"), "--plotly", to("none.js")};
    report(nowhere);
    EXPECT_THAT(printed, HasSubstr("unigram entropy 6.750: 1.875 below"));
    auto value = json::parse_file(folder_ / "evaluation.json").value();
    auto object = *value.as_object();
    ASSERT_TRUE(write_file(folder_ / "evaluation.json",
                           json::to_string(object.set("held_out_loss_nats", 8.0))));
    report(nowhere);
    EXPECT_THAT(printed, HasSubstr("unigram entropy 6.750: 1.250 above"));
}

TEST_F(Program, ShowsTheAverageIntensityOfATraceBesideTheMarginalOne)
{
    std::vector<std::string> const charts{"--out", to("x.html"), "--plotly", to("none.js")};
    report(charts);
    EXPECT_THAT(printed, HasSubstr("Average intensity: not known"));
    auto with_average = charts;
    with_average.insert(with_average.end(), {"--average-trace", to("trace.csv")});
    report(with_average);
    EXPECT_THAT(printed, HasSubstr("g/kWh at average intensity beside"));
    with_average.back() = to("missing.csv");
    EXPECT_EQ(report(with_average), 66);
}

TEST_F(Program, ReplacesAnEarlierReport)
{
    ASSERT_TRUE(write_file(folder_ / "charts.js", "var Plotly = {};"));
    std::vector<std::string> const charts{"--plotly", to("charts.js")};
    EXPECT_EQ(report(charts), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "report.html"));
    EXPECT_EQ(report(charts), 0);
}

}  // namespace
}  // namespace curtail::report
