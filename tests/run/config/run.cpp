// SPDX-License-Identifier: Apache-2.0
#include "run/config/run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "run/config/run_spec.hpp"
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
    EXPECT_EQ(run->store.url, "file://" + test::source_path("results/demo/store"));
    ASSERT_NE(run->find_site({"NEM_SA"}), nullptr);
    auto const& site = *run->find_site({"NEM_SA"});
    EXPECT_EQ(site.power->training, Watts{2024});
    EXPECT_EQ(site.power->pue, 1);
    EXPECT_THAT(site.power_source, HasSubstr("4 x A100"));
    EXPECT_EQ(site.embodied_gco2_per_hour, std::nullopt);
    EXPECT_EQ(run->find_site({"DE"}), nullptr);
}

class RunFile : public testing::Test {
  protected:
    // Reads the demo's files with `from` replaced by `to` in one of them.
    Result<config::Run> read_with(std::string const& from, std::string const& to,
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
        return read_run(folder / "inputs/runs/demo.json");
    }
    // The error message for these files.
    std::string message_with(std::string const& from, std::string const& to,
                             std::string const& changed = "inputs/runs/demo.json")
    {
        auto const run = read_with(from, to, changed);
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

TEST_F(RunFile, RejectsAnAddressingThatCannotWork)
{
    std::string const folder_store = "\"store\": \"file:../../results/demo/store\"";
    std::string const bucket_store =
        R"("store": "s3://my.bucket/x", "s3": {"addressing": "virtual_host"})";
    EXPECT_THAT(message_with(folder_store, bucket_store),
                HasSubstr("bucket my.bucket: Amazon's certificate"));
}

TEST_F(RunFile, RejectsAReferenceSiteThatTheRunDoesNotHave)
{
    EXPECT_THAT(message_with("\"seed\": 1", "\"reference_site\": \"NEM_SB\""),
                HasSubstr("reference_site: the run has no site \"NEM_SB\"; did you mean "
                          "\"NEM_SA\"?"));
    EXPECT_EQ(message_with("\"seed\": 1", "\"reference_site\": \"NEM_SA\""), "");
    EXPECT_EQ(read_run(folder / "inputs/runs/demo.json")->reference().site.value, "NEM_SA");
    EXPECT_EQ(message_with("\"seed\": 1", "\"seed\": 2"), "");
    EXPECT_EQ(read_run(folder / "inputs/runs/demo.json")->reference().site.value, "CAISO_NORTH");
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
    EXPECT_THAT(message_with("\"ranks\": 2", "\"ranks\": 2, \"device\": \"H200\"",
                             "inputs/sites/nem_sa.json"),
                HasSubstr("device: unknown value \"H200\"; known: cpu, gpu"));
    EXPECT_THAT(message_with("\"kind\": \"slurm\"", "\"kind\": \"slurm\", \"nodes\": 3",
                             "inputs/sites/nem_sa.json"),
                HasSubstr("nodes: must be at most the site's ranks"));
    EXPECT_THAT(message_with("\"kind\": \"slurm\"",
                             "\"kind\": \"slurm\", \"nodes\": 2, "
                             "\"sbatch_options\": [\"--nodes=2\"]",
                             "inputs/sites/nem_sa.json"),
                HasSubstr("nodes: must be absent if sbatch_options has --nodes"));
}

// The store's run.json has these limits too.
TEST_F(RunFile, RejectsRoundSettingsThatNoStoredRunMayHave)
{
    EXPECT_THAT(message_with("\"skew_s\": 2", "\"skew_s\": 2, \"max_undecided\": 101"),
                HasSubstr("rounds.max_undecided: must be 1 to 100"));
    EXPECT_THAT(message_with("\"skew_s\": 2", "\"skew_s\": 2, \"keep_models\": 1001"),
                HasSubstr("rounds.keep_models: must be 1 to 1000"));
}

// What one accepts, the other does too.
TEST_F(RunFile, HasTheRangesOfStoredRuns)
{
    auto const text = *read_file(test::source_folder() / "inputs/runs/demo.json");
    auto const with = [&](std::string const& key, double value) {
        return read_with("\"skew_s\": 2", fmt::format("\"skew_s\": 2, \"{}\": {}", key, value));
    };
    protocol::Params const params;
    protocol::each_param(params, [&](protocol::ParamKey const& key, auto const&) {
        bool const alone = std::string_view(key.file) != "drop_after_s";  // it depends on others
        if (text.find(key.file) != std::string::npos || !alone) return;
        double const unit = std::string_view(key.file).ends_with("_s") ? 1e-3 : 1;
        auto const least = with(key.file, unit * static_cast<double>(key.least_in_file()));
        ASSERT_TRUE(least) << key.file << least.error().message();
        auto const stored = encode(make_run_spec(*least, {}, 1'000'000, {"w"}));
        auto const read = protocol::decode_run(stored.bytes);
        EXPECT_TRUE(read) << read.error().message();
        EXPECT_FALSE(with(key.file, unit * static_cast<double>(key.least_in_file() - 1)))
            << key.file;
        EXPECT_FALSE(with(key.file, 1.001 * unit * static_cast<double>(key.most))) << key.file;
    });
    EXPECT_THAT(message_with("\"skew_s\": 2", "\"skew_s\": 2, \"max_aside\": 0"),
                HasSubstr("rounds.max_aside: must be 1 to"));
    auto const negative = read_with("\"lr_scale\": 0.5", "\"lr_scale\": 0.5, \"warmdown\": -0.0");
    ASSERT_TRUE(negative) << negative.error().message();
    EXPECT_TRUE(protocol::decode_run(encode(make_run_spec(*negative, {}, 1'000'000, {"w"})).bytes));
}

TEST_F(RunFile, AScheduleBelowTheBudgetIsAWarningIfTheRateFallsToZero)
{
    config::Run run;
    EXPECT_FALSE(zero_rate_warning(run, Tokens{100})) << "the schedule follows";
    run.optimizer.schedule = Tokens{60};
    EXPECT_THAT(zero_rate_warning(run, Tokens{100}).value(), HasSubstr("the last 40 tokens"));
    EXPECT_FALSE(zero_rate_warning(run, Tokens{60}));
    EXPECT_FALSE(zero_rate_warning(run, std::nullopt));
    run.optimizer.final_lr = 0.1;
    EXPECT_FALSE(zero_rate_warning(run, Tokens{100}));
}

TEST_F(RunFile, AModelThatNoFileDescribesHasNoParameters)
{
    config::Run run;
    run.model = model_of_depth(2);
    auto spec = make_run_spec(run, {}, 1, {});
    EXPECT_EQ(parameters_of(spec), run.model.parameters());
    spec.model.set("layers", protocol::max_integer);
    EXPECT_FALSE(parameters_of(spec));
}

TEST_F(RunFile, AScheduleThatIsNotStatedFollowsTheBudget)
{
    auto const run = read_with("0.55},\n  \"optimizer\": {\"schedule_tokens\": 1000000,",
                               "0.55, \"tokens\": 300000},\n  \"optimizer\": {");
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->training.budget, Tokens{300'000});
    EXPECT_FALSE(run->optimizer.schedule);
}

TEST_F(RunFile, ATokenBudgetLeavesAStatedScheduleUnchanged)
{
    auto const run = read_with("\"batch_tokens\": 2048", "\"batch_tokens\": 2048, \"tokens\": 300");
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->training.budget, Tokens{300});
    EXPECT_EQ(run->optimizer.schedule, Tokens{1'000'000});
}

TEST_F(RunFile, TokensPerParameterCountAllParametersAndRoundUp)
{
    auto const run = read_with("\"batch_tokens\": 2048",
                               "\"batch_tokens\": 2048, \"tokens_per_parameter\": 21.9");
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->training.budget, Tokens{20'093'426}) << "21.9 x 917508 is 20093425.2";
}

TEST_F(RunFile, StatesThePrecisionOrLeavesItToTheDevice)
{
    auto const precision = [&](std::string const& keys) {
        auto const run = read_with("\"batch_tokens\": 2048", "\"batch_tokens\": 2048" + keys);
        return run ? run->training.precision : std::nullopt;
    };
    EXPECT_EQ(precision(""), std::nullopt);
    EXPECT_EQ(precision(R"(, "precision": "fp32")"), Precision::fp32);
    EXPECT_EQ(precision(R"(, "precision": "bf16")"), Precision::bf16);
    EXPECT_THAT(
        message_with("\"batch_tokens\": 2048", R"("batch_tokens": 2048, "precision": "fp16")"),
        HasSubstr("training.precision: unknown value \"fp16\"; did you mean \"fp32\"?"));
}

TEST_F(RunFile, StatesWhenToWarnAboutHeldOutLosses)
{
    auto const usual = read_with("\"seed\"", "\"seed\"");
    ASSERT_TRUE(usual) << usual.error().message();
    EXPECT_EQ(usual->held_out.rise_nats, 0.1);
    EXPECT_EQ(usual->held_out.behind_models, 3);
    auto const stated = read_with(
        "\"seed\"", R"("held_out": {"warn_rise_nats": 0.25, "warn_behind_models": 0}, "seed")");
    ASSERT_TRUE(stated) << stated.error().message();
    EXPECT_EQ(stated->held_out.rise_nats, 0.25);
    EXPECT_EQ(stated->held_out.behind_models, 0);
    auto const unknown = read_with("\"seed\"", R"("held_out": {"warn_rise": 0.25}, "seed")");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message(), HasSubstr("warn_rise_nats"));
}

TEST_F(RunFile, SwitchesActivationCheckpointingOn)
{
    auto const checkpoints = [&](std::string const& keys) {
        auto const run = read_with("\"batch_tokens\": 2048", "\"batch_tokens\": 2048" + keys);
        EXPECT_TRUE(run) << run.error().message();
        return run->training.checkpoint_activations;
    };
    EXPECT_FALSE(checkpoints(""));
    EXPECT_TRUE(checkpoints(R"(, "checkpoint_activations": true)"));
    EXPECT_THAT(message_with("\"batch_tokens\": 2048",
                             R"("batch_tokens": 2048, "checkpoint_activations": "yes")"),
                HasSubstr("training.checkpoint_activations: must be true or false"));
}

TEST_F(RunFile, RejectsAmbiguousOrImpossibleTokenBudgets)
{
    auto const message = [&](std::string const& keys) {
        return message_with("\"batch_tokens\": 2048", "\"batch_tokens\": 2048, " + keys);
    };
    EXPECT_THAT(message(R"("tokens": 1000, "tokens_per_parameter": 2)"),
                HasSubstr("training.tokens_per_parameter: must be absent if training.tokens is "
                          "given"));
    EXPECT_THAT(message(R"("tokens": 0)"), HasSubstr("training.tokens: must be 1 to"));
    EXPECT_THAT(message(R"("tokens": 9007199254740992)"), HasSubstr("training.tokens: must be 1"));
    EXPECT_THAT(message(R"("tokens_per_parameter": 0)"),
                HasSubstr("training.tokens_per_parameter: must be more than 0"));
    EXPECT_THAT(message(R"("tokens_per_parameter": null)"),
                HasSubstr("training.tokens_per_parameter: must be a number, found null"));
    EXPECT_THAT(message(R"("tokens_per_parameter": 1e10)"),
                HasSubstr("training.tokens_per_parameter: must give less than 2^53 tokens"));
}

TEST(TokenBudget, LargerThanTheDataIsRefusedWithBothNumbers)
{
    auto run = read_run(test::source_folder() / "inputs/runs/demo.json").value();
    run.data.epochs = 3;
    run.rounds.block_tokens = Tokens{2'048};
    EXPECT_FALSE(check_budget(run, 10));
    run.training.budget = Tokens{3L * 10 * 2'048};
    EXPECT_FALSE(check_budget(run, 10));
    ++run.training.budget->value;
    auto const refused = check_budget(run, 10);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, ExitCode::config);
    EXPECT_THAT(refused->message(),
                HasSubstr("training.tokens: the budget is 61441 tokens, but the data have 61440: "
                          "3 epochs of 10 blocks of 2048 tokens"));
    EXPECT_THAT(refused->message(), HasSubstr("data.epochs to 4"));
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

TEST_F(RunFile, ReadsHowASiteConnectsOverMpi)
{
    auto const with = [&](std::string const& mpi) {
        return message_with("\"poll_period_s\": 2,", "\"poll_period_s\": 2, \"mpi\": " + mpi + ",",
                            "inputs/sites/nem_sa.json");
    };
    EXPECT_EQ(with(R"({})"), "");
    EXPECT_EQ(with(R"({"connect": "off", "interface": "ib0"})"), "");
    EXPECT_EQ(with(R"({"connect": "auto", "interface": "ib0", "peers": ["10.1.0.0/16", "10.2.0.7"],
                       "ports": "50000-50100", "timeout_s": 3})"),
              "");
    for (auto const& [mpi, why] : std::vector<std::pair<std::string, std::string>>{
             {R"({"connect": "on"})", "mpi.connect"},
             {R"({"connect": "auto"})", "mpi.interface: must be the name of a network interface"},
             {R"({"connect": "auto", "interface": "ib0"})", "mpi.peers: must name the networks"},
             {R"({"connect": "auto", "interface": "ib0", "peers": []})", "mpi.peers"},
             {R"({"connect": "auto", "interface": "ib0", "peers": ["10.1.0.1/16"]})", "mpi.peers"},
             {R"({"connect": "auto", "interface": "ib0", "peers": ["ib0"]})", "mpi.peers"},
             {R"({"connect": "auto", "interface": "ib0,lo", "peers": ["10.1.0.0/16"]})",
              "mpi.interface"},
             {R"({"ports": "50100-50000"})", "mpi.ports: must be two ports"},
             {R"({"ports": "0-10"})", "mpi.ports"},
             {R"({"ports": "5000-5014"})", "mpi.ports: must be at least 16 ports"},
             {R"({"timeout_s": -1})", "mpi.timeout_s"},
             {R"({"timeout_s": 0})", "mpi.timeout_s"},
             {R"({"timeout_s": 3601})", "mpi.timeout_s: must be up to 3600 s"},
             {R"({"interfaces": "ib0"})", "did you mean \"interface\"?"}})
        EXPECT_THAT(with(mpi), HasSubstr(why)) << mpi;
}

TEST_F(RunFile, TheDemoOverMpiDiffersFromTheDemoInItsConnections)
{
    auto const demo = read_run(test::source_folder() / "inputs/runs/demo.json");
    auto const over_mpi = read_run(test::source_folder() / "inputs/runs/demo-mpi.json");
    ASSERT_TRUE(demo);
    ASSERT_TRUE(over_mpi) << over_mpi.error().message();
    EXPECT_EQ(over_mpi->training.batch_tokens, demo->training.batch_tokens);
    EXPECT_EQ(over_mpi->rounds.round_time, demo->rounds.round_time);
    ASSERT_EQ(over_mpi->sites.size(), demo->sites.size());
    for (std::size_t i = 0; i < demo->sites.size(); ++i) {
        EXPECT_EQ(over_mpi->sites[i].site, demo->sites[i].site);
        EXPECT_EQ(over_mpi->sites[i].power->training, demo->sites[i].power->training);
        EXPECT_TRUE(over_mpi->sites[i].mpi.connect);
        EXPECT_FALSE(demo->sites[i].mpi.connect);
    }
}

TEST_F(RunFile, ThePermissionMustSurviveOneLatePoll)
{
    auto const message = [&](std::string const& keys) {
        return message_with("\"poll_period_s\": 2,", keys, "inputs/sites/nem_sa.json");
    };
    EXPECT_EQ(message("\"poll_period_s\": 60, \"permission_lifetime_s\": 120,"), "");
    EXPECT_THAT(message("\"poll_period_s\": 60, \"permission_lifetime_s\": 119,"),
                HasSubstr("permission_lifetime_s: must be at least 2 x poll_period_s"));
    EXPECT_THAT(message("\"poll_period_s\": 0,"), HasSubstr("poll_period_s: must be 0.001 to 1e9"));
    EXPECT_THAT(
        message_with("\"grace_s\": 15", "\"failures_before_hold\": 0", "inputs/sites/nem_sa.json"),
        HasSubstr("launcher.failures_before_hold: must be 1 to"));
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
