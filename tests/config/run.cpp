// SPDX-License-Identifier: Apache-2.0
#include "config/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::config {
namespace {

using testing::HasSubstr;

TEST(Model, Depth20MatchesTheReference)
{
    auto const d20 = model_of_depth(20);
    EXPECT_EQ(d20.width, 1280);
    EXPECT_EQ(d20.heads, 10);
    EXPECT_EQ(d20.parameters(), 560'988'200);
}

TEST(Model, HeadsDivideTheWidthForEveryDepth)
{
    for (int depth = 1; depth <= 64; ++depth)
        EXPECT_EQ(model_of_depth(depth).width % model_of_depth(depth).heads, 0) << depth;
    EXPECT_EQ(model_of_depth(2).heads, 1);
    EXPECT_EQ(model_of_depth(5).heads, 2);  // 320 / 128 = 2.5, rounded half to even
    EXPECT_EQ(model_of_depth(1).heads, 1);
}

TEST(Run, ReadsTheDemo)
{
    auto const run = read_run(test::source_folder() / "inputs/runs/demo.json");
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->model.parameters(), 917'508);
    EXPECT_EQ(run->rounds.round_time, Seconds{3});
    EXPECT_EQ(run->rounds.drop_after, Seconds{9});
    EXPECT_EQ(run->sites.size(), 3U);
    EXPECT_EQ(run->store, "file://" + test::source_path("results/demo/store"));
    ASSERT_NE(run->find_site({"NEM_SA"}), nullptr);
    EXPECT_EQ(run->find_site({"NEM_SA"})->power.training, Watts{2024});
    EXPECT_EQ(run->find_site({"DE"}), nullptr);
}

class RunFile : public testing::Test {
  protected:
    // The error message for the demo's files with `from` replaced by `to` in one of them.
    std::string message_with(std::string const& from, std::string const& to,
                             std::string const& changed = "inputs/runs/demo.json")
    {
        auto text = *read_file(test::source_folder() / changed);
        auto const at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        std::filesystem::create_directories(folder / "inputs");
        std::filesystem::copy(test::source_folder() / "inputs", folder / "inputs",
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
        EXPECT_TRUE(write_file(folder / changed, text));
        auto const run = read_run(folder / "inputs/runs/demo.json");
        return run ? "" : run.error().message();
    }
    test::TemporaryFolder folder;
};

TEST_F(RunFile, UnknownKeyErrorNamesTheNearestKey)
{
    EXPECT_THAT(message_with("\"round_time_s\"", "\"round_tme_s\""),
                HasSubstr("rounds.round_tme_s: unknown key; did you mean \"round_time_s\"?"));
    EXPECT_THAT(message_with("\"seed\"", "\"sead\""), HasSubstr("did you mean \"seed\"?"));
}

TEST_F(RunFile, RejectsContradictions)
{
    EXPECT_THAT(message_with("\"batch_tokens\": 2048", "\"batch_tokens\": 3000"),
                HasSubstr("multiple of rounds.block_tokens"));
    EXPECT_THAT(message_with("\"../sites/spp_tx.json\"", "\"../sites/nem_sa.json\""),
                HasSubstr("two site files have the name NEM_SA"));
    EXPECT_THAT(message_with("file:../../", "http://"),
                HasSubstr("store: must be file: and the path"));
    EXPECT_THAT(message_with("../models/demo.json", "../models/none.json"),
                HasSubstr("No such file"));
    EXPECT_THAT(message_with("\"round_time_s\": 3", "\"round_time_s\": -3"),
                HasSubstr("must be 0.001"));
}

TEST_F(RunFile, RejectsNumbersOutOfRange)
{
    EXPECT_THAT(message_with("\"epochs\": 40", "\"epochs\": 4611686018427387904"),
                HasSubstr("data.epochs: must be 1 to 8192"));
    EXPECT_THAT(message_with("\"lr_scale\": 0.5", "\"lr_scale\": 1e308"),
                HasSubstr("optimizer.lr_scale: must be more than 0"));
    EXPECT_THAT(message_with("\"lr_scale\": 0.5", "\"weight_decay\": -5"),
                HasSubstr("optimizer.weight_decay: must be 0 to 10"));
    EXPECT_THAT(message_with("\"batch_tokens\": 2048", "\"batch_tokens\": 2000000000000"),
                HasSubstr("must be 1 to 1099511627776"));
    EXPECT_THAT(message_with("\"seed\": 1", "\"seed\": -1"), HasSubstr("seed: must be 0 to"));
    EXPECT_THAT(message_with("\"close_above_gco2_per_kwh\": 100",
                             "\"close_above_gco2_per_kwh\": 100000", "inputs/sites/nem_sa.json"),
                HasSubstr("window.close_above_gco2_per_kwh: must be -2000 to 5000"));
    EXPECT_THAT(message_with("\"ranks\": 2", "\"ranks\": 4294967298", "inputs/sites/nem_sa.json"),
                HasSubstr("ranks: must be 1 to 4096"));
}

TEST_F(RunFile, RejectsEmptyPaths)
{
    for (auto const* store : {"file:", "file://"})
        EXPECT_THAT(
            message_with("\"file:../../results/demo/store\"", "\"" + std::string(store) + "\""),
            HasSubstr("store: must be file:"));
    EXPECT_THAT(message_with("\"folder\": \"../../results/demo/data\"", "\"folder\": \"\""),
                HasSubstr("data.folder: must not be empty"));
    EXPECT_THAT(message_with("\"../models/demo.json\"", "\"\""),
                HasSubstr("model: must not be empty"));
    EXPECT_THAT(message_with("\"../../build/clusters/NEM_SA/slurm.conf\"", "\"\"",
                             "inputs/sites/nem_sa.json"),
                HasSubstr("launcher.slurm_conf: must not be empty"));
}

TEST_F(RunFile, RejectsSbatchOptionsThatThePollerSets)
{
    auto const message = [&](std::string const& launcher) {
        return message_with("\"kind\": \"slurm\"", launcher, "inputs/sites/nem_sa.json");
    };
    EXPECT_EQ(message(
                  R"("sbatch_options": ["--account=x y", "--exclusive", "--time-min=10",
                                  "--ntasks-per-node=2"])"),
              "");
    for (auto const* taken : {"--comment=x", "--job-name=x", "--job=x", "--out=x", "--signal=USR1",
                              "--time=1", "--wait", "--parsable"})
        EXPECT_THAT(message(R"("sbatch_options": [")" + std::string(taken) + "\"]"),
                    HasSubstr("launcher.sbatch_options: must not contain " + std::string(taken) +
                              ", because the poller sets this option"));
    for (auto const* bad : {"\"-A\", \"x\"", "\"account\"", "\"--\"", "7", "\"--account=a\\nb\""})
        EXPECT_THAT(message("\"sbatch_options\": [" + std::string(bad) + "]"),
                    HasSubstr("must be long options"))
            << bad;
    EXPECT_THAT(message(R"("kind": "local", "sbatch_options": ["--exclusive"])"),
                HasSubstr("launcher.sbatch_options: requires kind slurm"));
    EXPECT_THAT(message(R"("prologue": "")"), HasSubstr("launcher.prologue: must not be empty"));
}

TEST_F(RunFile, RejectsTimeLimitsThatSbatchDoesNotAccept)
{
    auto const message = [&](std::string const& limit) {
        return message_with("\"grace_s\": 15",
                            "\"grace_s\": 120, \"time_limit\": \"" + limit + "\"",
                            "inputs/sites/nem_sa.json");
    };
    EXPECT_EQ(message("4"), "");
    EXPECT_EQ(message("2-12"), "");
    EXPECT_EQ(message("UNLIMITED"), "");
    EXPECT_THAT(
        message("1; rm -rf /"),
        HasSubstr("launcher.time_limit: \"1; rm -rf /\": it is not a time limit of sbatch; write "
                  "minutes, hours:minutes:seconds or days-hours"));
}

TEST_F(RunFile, RejectsATimeLimitThatLeavesNoTimeForTraining)
{
    auto const message = [&](std::string const& limit) {
        return message_with("\"grace_s\": 15",
                            "\"grace_s\": 120, \"time_limit\": \"" + limit + "\"",
                            "inputs/sites/nem_sa.json");
    };
    EXPECT_EQ(message("4:00"), "");
    EXPECT_THAT(message("3:59"),
                HasSubstr("launcher.time_limit: \"3:59\": it is 239 s, and grace_s is 120 s; "
                          "make it at least twice grace_s"));
}

TEST_F(RunFile, RejectsRegionsThatBreakTheFilesThatNameThem)
{
    for (auto const* region : {"a,b", "a b", "a\\tb", "a\\n", "\\u0007", ""})
        EXPECT_THAT(
            message_with("\"region\": \"NEM_SA\"", "\"region\": \"" + std::string(region) + "\"",
                         "inputs/sites/nem_sa.json"),
            HasSubstr("region: must be a name without commas, spaces and control characters"))
            << region;
}

TEST_F(RunFile, RejectsADropTimeShorterThanTwoRounds)
{
    auto const rounds = [&](std::string const& keys) {
        return message_with("\"round_time_s\": 3", keys);
    };
    EXPECT_THAT(rounds(R"("round_time_s": 3, "drop_after_s": 5.999)"),
                HasSubstr("rounds.drop_after_s: 5.999 s is too short: round_time_s is 3 s, and "
                          "checkpoint_interval_s is 3 s; make it at least twice the longer"));
    EXPECT_EQ(rounds(R"("round_time_s": 3, "drop_after_s": 6)"), "");
}

TEST_F(RunFile, RejectsAFolderThatIsAFile)
{
    auto const message =
        message_with("\"folder\": \"../../results/demo\"", "\"folder\": \"demo.json\"");
    EXPECT_THAT(message, HasSubstr("folder: " + (folder / "inputs/runs/demo.json").string() +
                                   " is not a folder; name another folder"));
    EXPECT_THAT(message_with("\"folder\": \"../../results/demo\"", "\"folder\": \"demo.json/x/y\""),
                HasSubstr("inputs/runs/demo.json is not a folder"));
}

TEST_F(RunFile, ModelErrorsNameTheWrongKey)
{
    auto const model = "inputs/models/demo.json";
    EXPECT_THAT(message_with("\"depth\": 2", "\"depth\": 0", model),
                HasSubstr("depth: must be 1 to 256"));
    EXPECT_THAT(message_with("\"depth\": 2", "\"depth\": \"2\"", model),
                HasSubstr("depth: must be an integer, found text"));
    EXPECT_THAT(message_with("\"depth\": 2", "\"heads\": 2", model),
                HasSubstr("depth: is missing"));
    EXPECT_THAT(message_with("\"depth\": 2", "\"depht\": 2", model),
                HasSubstr("depht: unknown key; did you mean \"depth\"?"));
    EXPECT_THAT(message_with("\"depth\": 2", "\"depth\": 2, \"heads\": 0", model),
                HasSubstr("heads: must divide the width 128"));
}

}  // namespace
}  // namespace curtail::config
