// curtail-report as a person calls it: where it writes, and what it never writes over.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "core/files.hpp"
#include "report/synthetic_run.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::report {
namespace {

using testing::HasSubstr;

class Program : public testing::Test {
  protected:
    Program() { test::write_synthetic_run(folder_.path(), {}); }

    /// Answers the exit code; `printed` holds what went to stdout.
    int report(std::string const& more)
    {
        auto const out = (folder_ / "stdout").string();
        auto const command = std::string(CURTAIL_BIN_DIR) + "/curtail-report " + (folder_ / "run.json").string() + " --trace " +
                             (folder_ / "trace.csv").string() + " --quiet " + more + " > " + out + " 2> " + out + ".errors";
        int const status = std::system(command.c_str());
        printed = read_file(out).value();
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string to(char const* file) const { return "--out " + (folder_ / file).string(); }

    curtail::test::TemporaryFolder folder_;
    std::string printed;
};

TEST_F(Program, NeverWritesOverAnInput)
{
    auto const run = read_file(folder_ / "run.json").value();
    auto const trace = read_file(folder_ / "trace.csv").value();
    auto const clock = read_file(folder_ / "clock.json").value();
    for (char const* file : {"run.json", "other.json", "trace.csv", "run.html", "clock.html"}) EXPECT_EQ(report(to(file)), 64) << file;
    EXPECT_EQ(read_file(folder_ / "run.json").value(), run);
    EXPECT_EQ(read_file(folder_ / "trace.csv").value(), trace);
    EXPECT_EQ(read_file(folder_ / "clock.json").value(), clock);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other.json") || std::filesystem::exists(folder_ / "run.html"));
}

TEST_F(Program, PrintsItsTablesAndWritesTheDocumentAlsoWhereThePageCannotBeMade)
{
    EXPECT_EQ(report(to("x.html") + " --plotly " + (folder_ / "none.js").string()), 66);
    EXPECT_THAT(printed, HasSubstr("always on in"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "x.json"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x.html"));
}

TEST_F(Program, WritesAReportOverAReport)
{
    ASSERT_TRUE(write_file(folder_ / "charts.js", "var Plotly = {};"));
    auto const charts = " --plotly " + (folder_ / "charts.js").string();
    EXPECT_EQ(report(charts), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "report.html"));
    EXPECT_EQ(report(charts), 0);
}

}  // namespace
}  // namespace curtail::report
