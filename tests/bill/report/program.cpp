// SPDX-License-Identifier: Apache-2.0
// curtail-report from the command line: where it writes, and what it never overwrites.
#include <gmock/gmock.h>

#include <map>
#include <regex>

#include "base/core/csv.hpp"
#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "bill/account/synthetic_run.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"

namespace curtail::report {
namespace {

using curtail::test::TemporaryFolder;
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
        // Sentences that are broken into lines are also there in one piece.
        printed = outcome.output + std::regex_replace(outcome.output, std::regex("\n {2,4}"), " ");
        return outcome.code;
    }
    std::string to(char const* file) const { return (folder_ / file).string(); }

    TemporaryFolder folder_;
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

TEST_F(Program, AnEnormousLogIsAnErrorThatNamesIt)
{
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
        auto const& log = entry.path();
        if (log.extension() != ".jsonl") continue;
        auto const size = std::filesystem::file_size(log);
        std::filesystem::resize_file(log, std::uintmax_t{1} << 36);
        EXPECT_EQ(report({"--out", to("x.html")}), 65) << log << printed;
        EXPECT_THAT(printed, HasSubstr(log.string() + ": it has 68719476736 bytes"));
        std::filesystem::resize_file(log, size);
    }
}

TEST_F(Program, ExpectsTheRunDigestThatItPrinted)
{
    auto const page = to("x.html");
    ASSERT_EQ(report({"--out", page, "--json"}), 0);
    auto const document = json::parse_file(to("x.json"), json::Dialect::strict).value();
    auto const digest = document.as_object()->find("audit")->as_object()->text_at("run_digest");
    EXPECT_EQ(digest.size(), 64U);
    EXPECT_EQ(report({"--out", page, "--expect", digest}), 0);
    EXPECT_THAT(printed, HasSubstr("Run digest: " + digest));
    std::filesystem::remove(to("x.json"));
    EXPECT_EQ(report({"--out", page, "--expect", std::string(64, 'a')}), 76);
    EXPECT_THAT(printed, HasSubstr("its run digest is " + digest));
    EXPECT_FALSE(std::filesystem::exists(to("x.json"))) << "nothing is written";
    EXPECT_EQ(report({"--out", page, "--expect", "aa"}), 64);
}

TEST_F(Program, MakesASecondBillWithPresentSettings)
{
    auto const site = folder_ / "sites-in/NEM_SA.json";
    auto text = read_file(site).value();
    text.replace(text.find("2.024"), 5, "9.000");
    ASSERT_TRUE(write_file(site, text));
    EXPECT_EQ(report({"--out", to("x.html"), "--recalculate", "new"}), 0);
    EXPECT_THAT(printed, HasSubstr("Recalculated: \"new\" is no record of the run"));
}

// Python alone computes the figures of the report from the folder for an auditor.
class Evidence : public Program {
  protected:
    int run_script(std::string const& name)
    {
        auto outcome = curtail::test::run_program({"/usr/bin/python3", to("evidence/") + name});
        printed = std::move(outcome.output);
        return outcome.code;
    }
    int recompute() { return run_script("recompute.py"); }
    [[nodiscard]] json::Object headline() const
    {
        return *json::parse_file(to("x.json"), json::Dialect::strict)
                    .value()
                    .as_object()
                    ->find("headline")
                    ->as_object();
    }
};

TEST_F(Evidence, GivesTheFiguresOfTheReport)
{
    ASSERT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence")}), 0) << printed;
    EXPECT_EQ(recompute(), 0) << printed;
    // What the script compares with is what the report says.
    auto const stated = read_file(to("evidence/figures.jsonl")).value();
    for (char const* key : {"energy_kwh", "co2_kg", "share", "tokens", "wall_s", "goodput",
                            "mean_intensity", "share_inside_windows"}) {
        EXPECT_THAT(stated, HasSubstr(json::to_string(
                                json::Array{json::Array{"headline", key}, *headline().find(key)})));
        EXPECT_THAT(printed, testing::ContainsRegex(std::string("[0-9]  'headline/") + key));
    }
    for (char const* region : {"CAISO_NORTH", "SPP_TX", "NEM_SA", "DE"})
        EXPECT_THAT(printed, HasSubstr(std::string("headline/always_on/") + region + "/ratio"));
    EXPECT_EQ(run_script("compare_logs.py"), 0) << printed;
    EXPECT_THAT(printed, testing::Not(HasSubstr("differs")));
    EXPECT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence")}), 64)
        << "an earlier folder stays";
}

TEST_F(Evidence, WhoseTablesDifferFromTheLogsSaysSo)
{
    ASSERT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence")}), 0) << printed;
    struct Edit {
        char const* file;
        char const* from;
        char const* to;
        char const* told;
    };
    for (auto const& edit :
         {Edit{"states.csv", "NEM_SA,training", "NEM_SA,idle",
               "differs: NEM_SA: 0.0 s of training"},
          Edit{"steps.csv", ",2048,", ",2047,", "differs: SPP_TX: "},
          Edit{"logs/SPP_TX-metrics.jsonl", "\"step_s\":0.", "\"step_s\":1.", "differs: SPP_TX: "},
          Edit{"logs/NEM_SA-trainer.jsonl", "\"time\":\"2", "\"time\":\"x",
               "NEM_SA-trainer.jsonl has a line without a time"}}) {
        auto const path = to("evidence/") + edit.file;
        auto const text = read_file(path).value();
        auto changed = text;
        for (auto at = changed.find(edit.from); at != std::string::npos;
             at = changed.find(edit.from, at + std::strlen(edit.to)))
            changed.replace(at, std::strlen(edit.from), edit.to);
        ASSERT_NE(changed, text) << edit.file;
        ASSERT_TRUE(write_file(path, changed));
        EXPECT_EQ(run_script("compare_logs.py"), 1) << edit.file;
        EXPECT_THAT(printed, HasSubstr(edit.told)) << edit.file;
        ASSERT_TRUE(write_file(path, text));
    }
    EXPECT_EQ(run_script("compare_logs.py"), 0) << printed;
    ASSERT_TRUE(write_file(to("evidence/logs/NEM_SA-signals.jsonl"),
                           R"({"region":"NEM_SA","time":"2026-01-11T17:00:00Z",)"
                           R"("intensity_gco2_per_kwh":1,"kind":"marginal"})"));
    EXPECT_EQ(run_script("compare_logs.py"), 1);
    EXPECT_THAT(printed, HasSubstr("differs: NEM_SA: 0 of 217 samples are in a log"));
}

TEST_F(Evidence, OfARunWithGapsAndOpenWindowsGivesTheFigures)
{
    for (auto const& kind : {account::test::Synthetic{.gaps = true},
                             account::test::Synthetic{.stop_at = 21'000, .evaluated = false}}) {
        std::filesystem::remove_all(to("evidence"));
        std::filesystem::remove_all(to("store"));
        account::test::write_synthetic_run(folder_.path(), kind);
        ASSERT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence")}), 0) << printed;
        EXPECT_EQ(recompute(), 0) << printed;
    }
}

TEST_F(Evidence, ThatWasChangedDiffers)
{
    for (char const* file : {"samples.csv", "states.csv", "run.json", "figures.jsonl",
                             "logs/NEM_SA-metrics.jsonl", "configuration/x"}) {
        std::filesystem::remove_all(to("evidence"));
        ASSERT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence")}), 0) << printed;
        auto const path = to("evidence/") + file;
        auto const name =
            std::string(file) == "configuration/x"
                ? std::filesystem::directory_iterator(to("evidence/configuration"))->path().string()
                : path;
        ASSERT_TRUE(write_file(name, read_file(name).value() + "\n"));
        EXPECT_EQ(recompute(), 1) << file;
        EXPECT_THAT(printed, HasSubstr("differs: ")) << file;
    }
}

TEST_F(Evidence, MayLackTheValuesOfTheSignal)
{
    ASSERT_EQ(report({"--out", to("x.html"), "--evidence", to("evidence"), "--without-values"}), 0);
    EXPECT_EQ(recompute(), 0) << printed;
    EXPECT_THAT(printed, testing::ContainsRegex("[0-9]  'headline/energy_kwh'"));
    EXPECT_THAT(printed, HasSubstr("left out  'headline/co2_kg'"));
    for (auto const& entry : std::filesystem::recursive_directory_iterator(to("evidence")))
        if (entry.is_regular_file()) {
            auto const text = read_file(entry.path()).value();
            EXPECT_THAT(text, testing::Not(HasSubstr("intensity_gco2_per_kwh\":"))) << entry.path();
            EXPECT_THAT(text, testing::Not(HasSubstr("68.945984"))) << entry.path();
        }
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

TEST_F(Program, ChangesNothingButTheReportAndItsCaches)
{
    auto const content = [&] {
        std::map<std::string, std::string> files;
        for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
            if (entry.is_regular_file())
                files[entry.path().lexically_relative(folder_.path()).string()] =
                    read_file(entry.path()).value();
        return files;
    };
    auto const before = content();
    ASSERT_EQ(report({"--cache", to("records")}), 0) << printed;
    std::vector<std::string> others;
    for (auto const& [name, text] : content()) {
        auto const found = before.find(name);
        bool const is_same = found != before.end() && found->second == text;
        bool const is_cache = name.starts_with("cache/") || name.starts_with("records/");
        if (!is_same && !is_cache) others.push_back(name);
    }
    EXPECT_THAT(others, testing::ElementsAre("report.html", "report.json"));
}

// The numbers themselves: results/reference/check.py and check_rest.py.
TEST(Reference, IsPrintedFromItsDocument)
{
    TemporaryFolder const folder;
    auto const report = [&](std::vector<std::string> const& more) {
        std::vector<std::string> words{curtail::test::program_path("curtail-report"), "--reference",
                                       "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return curtail::test::run_program(std::move(words));
    };
    auto const text = report({}).output;
    for (char const* digits :
         {"1.37949707238 kg", "27.0691131026 kg", "12.09542687", "37.7219333333 kWh",
          "0.969936146786", "14.6375054976", "accounting rule linear: "})
        EXPECT_THAT(text, HasSubstr(digits));
    EXPECT_THAT(report({"--json"}).output, HasSubstr("\"value\": 1.3794970723765"));
    EXPECT_EQ(report({"--csv", (folder / "tables").string()}).code, 0);
    EXPECT_EQ(read_file(folder / "tables/windows.csv").value().substr(0, 45),
              "site,opened_utc,closed_utc,released_utc,first");
    EXPECT_EQ(report({"--trace", "x.csv"}).code, 64) << "the document has its own";
    EXPECT_EQ(report({"--logs", folder.path().string()}).code, 66);
    ASSERT_TRUE(write_file(folder / "report.json", R"({"schema":"curtail.report/1"})"));
    EXPECT_EQ(report({"--logs", folder.path().string()}).code, 65);
}

using Rows = std::vector<std::vector<std::string>>;

// The rows of a file that --csv wrote, the header row first.
Rows rows_of(std::filesystem::path const& file)
{
    auto const text = read_file(file).value();
    EXPECT_THAT(text, testing::EndsWith("\r\n")) << file;
    Rows rows;
    csv::LineReader lines(text);
    while (auto const line = lines.next()) rows.push_back(csv::fields_of(*line).value());
    return rows;
}

json::Value document_in(std::filesystem::path const& file)
{
    return json::parse_file(file).value();
}

TEST_F(Program, StatesTheHeldOutLossOfARunWithoutTrainedTokens)
{
    auto value = json::parse_file(folder_ / "evaluation.json").value();
    ASSERT_TRUE(write_file(folder_ / "evaluation.json",
                           json::to_string(value.as_object()->set("commit", 1))));
    for (auto const& run : std::filesystem::directory_iterator(folder_ / "store/runs"))
        for (auto const& commit : std::filesystem::directory_iterator(run.path() / "commits"))
            if (commit.path().filename() != "00000001.json") std::filesystem::remove(commit.path());
    EXPECT_EQ(report({"--out", to("x.html"), "--csv", to("tables")}), 0) << printed;
    EXPECT_THAT(printed, HasSubstr("held-out loss 4.875 nats per token at commit 1;"));
    EXPECT_EQ(rows_of(folder_ / "tables/held_out.csv").size(), 2U);
}

TEST_F(Program, WritesEachTableAsCsvWithTheFiguresOfTheDocument)
{
    std::vector<std::string> const tables{"--csv",      to("new/tables"), "--out",
                                          to("x.html"), "--plotly",       to("none.js")};
    EXPECT_EQ(report(tables), 66);  // the page cannot be written; the tables are
    EXPECT_EQ(report(tables), 66);  // replaces its own tables
    auto const document = document_in(folder_ / "x.json");
    auto const& doc = *document.as_object();
    std::vector<std::pair<char const*, char const*>> const lists{
        {"windows", "windows"},       {"rounds", "rounds"},       {"sites", "sites"},
        {"comparison", "comparison"}, {"decisions", "decisions"}, {"events", "events"}};
    for (auto const& [key, name] : lists) {
        auto const rows = rows_of(folder_ / "new/tables" / (std::string(name) + ".csv"));
        EXPECT_EQ(rows.size(), doc.find(key)->as_array()->size() + 1) << name;
        for (auto const& row : rows) EXPECT_EQ(row.size(), rows[0].size()) << name;
    }
    for (char const* name :
         {"energy", "states", "round_sites", "loss", "held_out", "facts", "statements"})
        EXPECT_GT(rows_of(folder_ / "new/tables" / (std::string(name) + ".csv")).size(), 1U)
            << name;
}

TEST_F(Program, WritesTimesInUtcAndUnitsInHeadings)
{
    report({"--csv", to("tables"), "--out", to("x.html"), "--plotly", to("none.js")});
    auto const windows = rows_of(folder_ / "tables/windows.csv");
    EXPECT_THAT(windows[0], testing::IsSupersetOf({"opened_utc", "energy_kwh", "co2_g"}));
    EXPECT_EQ(windows[1][0], "CAISO_NORTH");
    EXPECT_EQ(windows[1][1], "2026-01-11T17:05:00Z");
    EXPECT_EQ(rows_of(folder_ / "tables/rounds.csv")[0][7], "duration_real_s");
}

TEST_F(Program, WritesTheTimeWithDevicesBesideTheTimeThatIncludesWaitingForThem)
{
    report({"--csv", to("tables"), "--out", to("x.html"), "--plotly", to("none.js")});
    auto const sites = rows_of(folder_ / "tables/sites.csv");
    auto const column = [&](char const* name) {
        auto const at = std::find(sites[0].begin(), sites[0].end(), name) - sites[0].begin();
        return std::stod(sites[1].at(static_cast<std::size_t>(at)));
    };
    auto const document = document_in(folder_ / "x.json");
    auto const waited_h = document.as_object()
                              ->find("hours")
                              ->as_object()
                              ->find(sites[1][0])
                              ->as_object()
                              ->find("provision")
                              ->as_number()
                              .value();
    ASSERT_GT(waited_h, 0);
    EXPECT_NEAR(column("allocated_s") - column("held_devices_s"), waited_h * 3600, 1);
}

TEST_F(Program, WritesTablesOnlyToAFolderOfItsOwn)
{
    EXPECT_EQ(report({"--csv", to("run.json")}), 64);
    EXPECT_THAT(printed, HasSubstr("is a file, not a folder"));
    auto const kept = folder_ / "tables/rounds.csv";
    ASSERT_TRUE(make_folder(kept.parent_path()));
    ASSERT_TRUE(write_file(kept, "my own rounds"));
    EXPECT_EQ(report({"--csv", to("tables")}), 64);
    EXPECT_EQ(read_file(kept).value(), "my own rounds");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "tables/windows.csv"));
    ASSERT_TRUE(write_file(kept, "round,began_utc,a_column_of_another_version\r\n"));
    EXPECT_EQ(report({"--csv", to("tables"), "--out", to("x.html"), "--plotly", to("none.js")}), 66)
        << "the page cannot be written; the tables are";
    EXPECT_TRUE(std::filesystem::exists(folder_ / "tables/windows.csv"));
    EXPECT_EQ(report({"--csv", ""}), 64);
}

}  // namespace
}  // namespace curtail::report
