// SPDX-License-Identifier: Apache-2.0
// Python alone computes the figures of many kinds of runs from the folder for an auditor.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <regex>

#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/account/small_run.hpp"
#include "bill/evidence/evidence.hpp"
#include "bill/report/document.hpp"
#include "support/child_process.hpp"

namespace curtail::evidence {
namespace {

namespace fs = std::filesystem;
using account::RunFiles;
using account::test::at;
using account::test::hourly;
using curtail::test::TemporaryFolder;
using testing::HasSubstr;

struct Printed {
    int code;
    std::string text;
};

// The folder for an auditor of a run.
class Folder {
  public:
    explicit Folder(RunFiles const& files, bool with_values = true)
    {
        auto const account = account::account_of(files);
        document = report::document(account, std::nullopt);
        for (auto const& file : evidence_of(files, account, document, with_values)) {
            fs::create_directories(path(file.name).parent_path());
            if (!write_file(path(file.name), file.text)) ADD_FAILURE() << file.name;
        }
    }
    [[nodiscard]] fs::path path(std::string const& name) const { return folder_ / name; }
    // Runs the script without the environment of Curtail.
    [[nodiscard]] Printed recompute(std::string const& python = "/usr/bin/python3") const
    {
        return run("recompute.py", python);
    }
    [[nodiscard]] Printed compare_logs() const { return run("compare_logs.py"); }

    json::Object document;

  private:
    [[nodiscard]] Printed run(char const* script,
                              std::string const& python = "/usr/bin/python3") const
    {
        auto const done =
            curtail::test::run_program({"/usr/bin/env", "-i", python, "-I", path(script).string()});
        return {done.code, done.output};
    }

    TemporaryFolder folder_;
};

// A run with embodied carbon and average intensity, which a poller of EAST watches from 0:00 on.
RunFiles complete_run()
{
    auto files = account::test::small_run();
    for (auto& site : files.run.sites) site.embodied_gco2_per_hour = 50;
    files.averages = {hourly("E", {300, 300, 300, 300}), hourly("W", {100, 100, 100, 100})};
    files.commits.back().run_complete = true;
    double loss = 4;
    for (auto& site : files.sites) {
        Tokens progress;  // some steps of the two sites have the same
        for (auto& step : site.metrics) {
            progress += files.run.training.batch_tokens;
            step.progress = progress;
            step.loss = loss -= 0.3;
        }
    }
    return files;
}

struct Kind {
    char const* name;
    std::function<void(RunFiles&)> change;
};

std::vector<Kind> const kinds{
    {"complete", [](RunFiles&) {}},
    {"without embodied carbon", [](RunFiles& f) { f.run.sites[1].embodied_gco2_per_hour.reset(); }},
    {"negative",
     [](RunFiles& f) {
         f.trace[0] = hourly("E", {-50, -80, 150, -10, -50});
     }},
    {"with unknown intensity",
     [](RunFiles& f) {
         f.trace[1] = hourly("W", {200, std::nullopt, std::nullopt, 120, 400});
     }},
    {"of known power and no signal", [](RunFiles& f) { f.trace.clear(); }},
    {"blind in one region", [](RunFiles& f) { f.trace.erase(f.trace.begin()); }},
    {"partial", [](RunFiles& f) { f.sites[0].metrics.pop_back(); }},
    {"of unknown power", [](RunFiles& f) { f.run.sites[0].power.reset(); }},
    {"of unknown nodes",
     [](RunFiles& f) {
         for (auto& site : f.run.sites) site.between_jobs = energy::BetweenJobs::unknown;
     }},
    {"of idle nodes",
     [](RunFiles& f) {
         for (auto& site : f.run.sites) site.between_jobs = energy::BetweenJobs::idle;
         for (auto& site : f.run.sites) site.embodied_gco2_per_hour.reset();
     }},
    {"with a PUE that changes",
     [](RunFiles& f) {
         f.run.sites[0].power->pue = 1.2;
         f.run.sites[0].later_pues = {{at(1.25), 1.7}};
     }},
    {"with meters",
     [](RunFiles& f) {
         f.run.sites[0].meter = config::Meter{false, Watts{300}};
         for (auto& step : f.sites[0].metrics) step.metered_j = 1100 * step.duration.count();
     }},
    {"replay",
     [](RunFiles& f) {
         f.clock = TimeScale{at(0), at(0), 1.5};
         f.averages.clear();
     }},
    {"fork",
     [](RunFiles& f) {
         f.spec = protocol::RunSpec{};
         f.spec->fork = protocol::ForkRef{{"mine"}, {12}, {}};
         for (auto& commit : f.commits) commit.tokens += Tokens{1'000'000};
     }},
    {"with less than 90 % of always-on observed",
     [](RunFiles& f) { f.trace[0] = hourly("E", {50}); }},
    {"with a second bill",
     [](RunFiles& f) {
         auto other = f;
         other.recalculation = account::Recalculation{"what if", "other.csv", 10, 3};
         f.recalculated = std::make_shared<RunFiles const>(other);
         f.fixed = std::make_shared<RunFiles const>(other);
     }},
    {"without work", [](RunFiles& f) { f.commits.clear(); }},
};

TEST(Recompute, GivesTheFiguresOfEachKindOfRun)
{
    for (auto const& kind : kinds) {
        auto files = complete_run();
        kind.change(files);
        Folder const folder(files);
        auto const done = folder.recompute();
        EXPECT_EQ(done.code, 0) << kind.name << "\n" << done.text;
        EXPECT_THAT(done.text, HasSubstr("totals/all/kwh")) << kind.name;
    }
}

// Figures of energy, carbon, shares and work. The others are named.
TEST(Recompute, NamesTheFiguresThatItDoesNotCompute)
{
    Folder const folder(complete_run());
    auto const text = folder.recompute().text;
    for (char const* name : {"headline/co2_kg",
                             "headline/energy_kwh",
                             "headline/share",
                             "headline/goodput",
                             "headline/share_inside_windows",
                             "headline/best_ppl",
                             "headline/tail_loss/0",
                             "headline/always_on/E/ratio",
                             "headline/always_on/N/observed",
                             "headline/always_on/W/rate/tokens_per_s",
                             "audit/sci/g_per_million_tokens",
                             "audit/sci/operational_g",
                             "audit/sci/embodied_g",
                             "audit/g_per_million_tokens",
                             "audit/average/g_per_kwh",
                             "audit/average/g",
                             "totals/all/avoided_g",
                             "totals/sites/EAST/kwh",
                             "totals/sites/WEST/ratio/E",
                             "comparison/run/kg",
                             "comparison/one:E/gco2_outside"})
        EXPECT_TRUE(std::regex_search(text, std::regex(std::string("[0-9]  '") + name + "'")))
            << name << "\n"
            << text;
    std::regex const allowed("(ppl|tail|held_out|s_step|step|estimated|recalculated|region|newer)");
    for (auto const line : split(text, '\n')) {
        std::string const words(line);
        if (words.find("not recomputed") == std::string::npos) continue;
        EXPECT_TRUE(std::regex_search(words, allowed)) << words;
    }
}

// What the script reads is what the report says.
TEST(Recompute, ComparesWithTheFiguresOfTheReport)
{
    Folder const folder(complete_run());
    auto const text = read_file(folder.path("figures.jsonl")).value();
    EXPECT_THAT(text, HasSubstr("[[\"headline\",\"co2_kg\"],0.474"));
    auto changed = text;
    changed.replace(changed.find("0.474"), 5, "0.475");
    ASSERT_TRUE(write_file(folder.path("figures.jsonl"), changed));
    // Somebody who also writes new digests is found by the figures.
    auto digests = read_file(folder.path("digests.txt")).value();
    auto const line = digests.find("  figures.jsonl") - 64;
    digests.replace(line, 64, sha256(changed).hex());
    ASSERT_TRUE(write_file(folder.path("digests.txt"), digests));
    auto const done = folder.recompute();
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.text, HasSubstr("differs: 'headline/co2_kg'"));
    EXPECT_THAT(done.text, HasSubstr("SHA-256 of digests.txt: " + sha256(digests).hex()));
}

TEST(Recompute, NoticesEachFileThatIsChangedMissingAddedOrALink)
{
    Folder const folder(complete_run());
    std::vector<fs::path> files;
    for (auto const& entry : fs::recursive_directory_iterator(folder.path("")))
        if (entry.is_regular_file() && entry.path().filename() != "recompute.py")
            files.push_back(entry.path());
    auto const expect_noticed = [&](fs::path const& path) {
        auto const done = folder.recompute();
        EXPECT_EQ(done.code, 1) << path << done.text;
    };
    for (auto const& path : files) {
        auto const text = read_file(path).value();
        ASSERT_TRUE(write_file(path, text + "\n"));
        expect_noticed(path);
        fs::remove(path);
        expect_noticed(path);
        fs::create_symlink("/etc/hostname", path);
        expect_noticed(path);
        fs::remove(path);
        ASSERT_TRUE(write_file(path, text));
    }
    for (char const* name : {"more.txt", "logs.txt"}) {
        ASSERT_TRUE(write_file(folder.path(name), "more"));
        expect_noticed(name);
        fs::remove(folder.path(name));
    }
    fs::create_directory_symlink("/etc", folder.path("etc"));
    expect_noticed("etc");
    fs::remove(folder.path("etc"));
    EXPECT_EQ(folder.recompute().code, 0);
}

TEST(Recompute, SaysWhatItCannotComputeWithoutTheValuesOfTheSignal)
{
    for (auto const& kind : kinds) {
        auto files = complete_run();
        kind.change(files);
        Folder const folder(files, false);
        auto const done = folder.recompute();
        EXPECT_EQ(done.code, 0) << kind.name << "\n" << done.text;
        EXPECT_THAT(done.text, HasSubstr("left out  'totals/all/g'")) << kind.name;
        EXPECT_TRUE(std::regex_search(done.text, std::regex("[0-9]  'totals/all/tokens'")));
    }
    Folder const folder(complete_run(), false);
    for (auto const& entry : fs::recursive_directory_iterator(folder.path("")))
        if (!entry.is_directory()) {
            EXPECT_EQ(read_file(entry.path()).value().find("0.474"), std::string::npos)
                << entry.path();
        }
}

TEST(Recompute, FitsIntoTwoHundredLinesOfOldPython)
{
    std::string const script = recompute_script;
    EXPECT_LT(std::ranges::count(script, '\n'), 200);
    auto const done = curtail::test::run_program(
        {"/usr/bin/python3", "-c",
         "import ast, sys; ast.parse(sys.argv[1], feature_version=(3, 6))", script});
    EXPECT_EQ(done.code, 0) << done.output;
}

TEST(CompareLogs, SaysThatTheReportNamesContradictingSamples)
{
    auto files = complete_run();
    std::string const sample =
        R"({{"region":"E","time":"2026-03-01T0{}:00:00Z","intensity_gco2_per_kwh":{}}})"
        "\n";
    auto& log = files.logs.emplace_back("EAST-signals.jsonl", "").second;
    auto& points = files.trace[0].points;
    for (std::size_t hour = 0; hour < points.size(); ++hour)
        log += fmt::format(fmt::runtime(sample), hour, points[hour].intensity.value().value);
    auto const hint = HasSubstr("Contradicting samples");
    EXPECT_THAT(Folder(files).compare_logs().text, testing::Not(hint));
    log += fmt::format(fmt::runtime(sample), 1, 90);
    points[1].intensity.reset();
    auto const done = Folder(files).compare_logs();
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.text, HasSubstr("differs: E: 4 of 5 samples are in a log"));
    EXPECT_THAT(done.text,
                HasSubstr("samples.csv leaves out 1 value of E: see the note \"Contradicting "
                          "samples\" of the report\n"));
    EXPECT_THAT(done.text, HasSubstr("the notes of the report name what Curtail corrected or left "
                                     "out\n"));
}

}  // namespace
}  // namespace curtail::evidence
