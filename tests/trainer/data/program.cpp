// SPDX-License-Identifier: Apache-2.0
// curtail-data on the command line: exit codes, messages, pipes, and kills.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "support/own_options.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/data/verify.hpp"

namespace curtail::data {
namespace {

using testing::HasSubstr;

std::string const program = test::program_path("curtail-data");
std::string const corpus = test::source_path("tests/golden/corpus");

struct Outcome {
    int code;
    std::string out;
    std::string err;
};

class Shell {
  public:
    // Runs `curtail-data arguments...`, standard input from `input`.
    Outcome run(std::vector<std::string> const& arguments, std::string const& input = {})
    {
        std::ofstream(folder_ / "in") << input;
        int status = 0;
        waitpid(start(arguments), &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(folder_ / "out"),
                *read_file(folder_ / "err")};
    }
    pid_t start(std::vector<std::string> const& arguments)
    {
        std::ofstream(folder_ / "in", std::ios::app).flush();
        std::vector<char*> words{const_cast<char*>(program.c_str())};
        for (auto const& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
        words.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, (folder_ / "in").c_str(), O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, (folder_ / "out").c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_addopen(&actions, 2, (folder_ / "err").c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
        pid_t pid = -1;
        EXPECT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr, words.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        return pid;
    }
    [[nodiscard]] std::string path(std::string const& name) const
    {
        return (folder_ / name).string();
    }

  private:
    test::TemporaryFolder folder_;
};

TEST(CurtailData, PreparesVerifiesAndInspects)
{
    Shell shell;
    auto const prepare = shell.run({"prepare", corpus, "--out", shell.path("data"), "--vocabulary",
                                    "400", "--held-out", "0.25"});
    ASSERT_EQ(prepare.code, 0) << prepare.err;
    EXPECT_THAT(prepare.out, HasSubstr("vocabulary 400"));
    auto const again = shell.run({"prepare", corpus, "--out", shell.path("data"), "--vocabulary",
                                  "400", "--held-out", "0.25"});
    EXPECT_EQ(again.code, 0);
    EXPECT_THAT(again.err, HasSubstr("nothing to do"));
    EXPECT_THAT(shell.run({"verify", shell.path("data")}).out,
                HasSubstr("2 shards match the manifest"));
    EXPECT_THAT(shell.run({"inspect", shell.path("data"), "--json"}).out,
                HasSubstr("\"unigram_entropy_nats\""));
    EXPECT_THAT(shell.run({"inspect", shell.path("data/train-00000.h5")}).out,
                HasSubstr("tokens       uint16"));
    auto const shard = shell.path("data/train-00000.h5");
    auto bytes = *read_file(shard);
    bytes[70] = static_cast<char>(~bytes[70]);
    ASSERT_TRUE(write_file(shard, bytes));
    auto const header = shell.run({"inspect", shard});
    EXPECT_EQ(header.code, 65);
    EXPECT_EQ(std::count(header.err.begin(), header.err.end(), '\n'), 1)
        << "HDF5 must not print at exit:\n"
        << header.err;
    ASSERT_TRUE(write_file(shard, "x"));
    auto const damaged = shell.run({"verify", shell.path("data")});
    EXPECT_EQ(damaged.code, 65);
    EXPECT_THAT(damaged.out, testing::StartsWith("train-00000.h5: digest differs"));
    EXPECT_THAT(damaged.err, HasSubstr("prepare the text again with --replace"));
    auto const listed =
        json::parse(shell.run({"verify", shell.path("data"), "--json"}).out, "verify");
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->as_object()->find("bad")->as_array()->size(), 1U);
    EXPECT_EQ(shell.run({"inspect", shard}).code, 65);
}

TEST(CurtailData, SaysHowManyFilesItLeavesOut)
{
    Shell shell;
    ASSERT_TRUE(make_folder(shell.path("text")));
    for (auto const* name : {"a.txt", "b.text", "c.md"})
        ASSERT_TRUE(write_file(shell.path("text") + "/" + name, "some text, some more text\n"));
    auto const prepare = [&](std::vector<std::string> const& command) {
        auto words = command;
        words.insert(words.end(), {shell.path("text"), corpus, "--vocabulary", "265"});
        return shell.run(words);
    };
    auto const prepared = prepare({"prepare", "--out", shell.path("data")});
    EXPECT_EQ(prepared.code, 0);
    EXPECT_THAT(prepared.err, HasSubstr("left out 2 files whose names do not end with .txt"));
    ASSERT_TRUE(write_file(shell.path("text") + "/c.txt", "more\n"));
    std::filesystem::remove(shell.path("text") + "/c.md");
    EXPECT_THAT(prepare({"tokenizer", "--out", shell.path("t")}).err,
                HasSubstr("left out a file whose name does not end with .txt"));
}

TEST(CurtailData, ReadsTokensAndTokenizersWithTheLineEndsOfOtherMachines)
{
    Shell shell;
    ASSERT_EQ(
        shell.run({"tokenizer", corpus, "--out", shell.path("lf"), "--vocabulary", "300"}).code, 0);
    auto text = read_file(shell.path("lf")).value();
    for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2)
        text.replace(at, 1, "\r\n");
    ASSERT_TRUE(write_file(shell.path("crlf"), text));
    auto const ids = shell.run({"encode", "--tokenizer", shell.path("lf"), "of the"}).out;
    EXPECT_EQ(shell.run({"encode", "--tokenizer", shell.path("crlf"), "of the"}).out, ids);
    EXPECT_EQ(shell.run({"decode", "--tokenizer", shell.path("crlf"), "\r\n" + ids + "\r\n"}).out,
              "of the");
}

TEST(CurtailData, PreparesTheDataOfARun)
{
    Shell shell;
    std::string const inputs = test::source_path("inputs");
    ASSERT_TRUE(
        write_file(shell.path("m.json"), R"({"depth": 1, "sequence": 32, "vocabulary": 300})"));
    ASSERT_TRUE(write_file(shell.path("r.json"),
                           R"({"run": "r", "seed": 7, "folder": "results", "store": "file:store",
        "model": "m.json", "data": {"folder": "d"},
        "training": {"batch_tokens": 2048}, "rounds": {"block_tokens": 2048}, "sites": [")" +
                               inputs + R"(/sites/spp_tx.json"]})"));
    auto const run = shell.path("r.json");
    ASSERT_EQ(
        shell.run({"tokenizer", corpus, "--out", shell.path("big"), "--vocabulary", "301"}).code,
        0);
    auto const refused =
        shell.run({"prepare", corpus, "--run", run, "--tokenizer", shell.path("big")});
    EXPECT_EQ(refused.code, 78);
    EXPECT_THAT(refused.err, HasSubstr("it has 301 tokens, and the model has 300"));
    EXPECT_FALSE(std::filesystem::exists(shell.path("d")));
    auto const prepare = shell.run({"prepare", corpus, "--run", run, "--json"});
    ASSERT_EQ(prepare.code, 0) << prepare.err;
    EXPECT_THAT(shell.run({"inspect", shell.path("d")}).out, HasSubstr("vocabulary 300"));
    EXPECT_EQ(read_manifest(shell.path("d"))->seed, 7)
        << "documents are shuffled by the run's seed";
    auto const verified =
        json::parse(shell.run({"verify", shell.path("d"), "--json"}).out, "answer");
    ASSERT_TRUE(verified);
    EXPECT_EQ(*verified->as_object()->find("shards"), json::Value(2));
    for (std::vector<std::string> const& both :
         {std::vector<std::string>{"--out", shell.path("x")}, {"--vocabulary", "400"}}) {
        std::vector<std::string> words{"prepare", corpus, "--run", run};
        words.insert(words.end(), both.begin(), both.end());
        EXPECT_EQ(shell.run(words).code, 64);
    }
    EXPECT_EQ(shell.run({"prepare", corpus}).code, 64);
    EXPECT_EQ(shell.run({"prepare", corpus, "--run", shell.path("none.json")}).code, 66);
}

TEST(CurtailData, EncodeAndDecodeWorkInPipes)
{
    Shell shell;
    ASSERT_EQ(
        shell.run({"tokenizer", corpus, "--out", shell.path("t.tiktoken"), "--vocabulary", "400"})
            .code,
        0);
    std::string const text = "The größte café,\n  since 1999!\n";
    auto const tokens = shell.run({"encode", "--tokenizer", shell.path("t.tiktoken")}, text);
    ASSERT_EQ(tokens.code, 0) << tokens.err;
    EXPECT_EQ(shell.run({"decode", "--tokenizer", shell.path("t.tiktoken")}, tokens.out).out, text);
    EXPECT_EQ(shell.run({"decode", "--tokenizer", shell.path("t.tiktoken"), "97", "98"}).out, "ab");
    EXPECT_EQ(shell.run({"decode", "--tokenizer", shell.path("t.tiktoken"), "x1"}).code, 65);
    EXPECT_EQ(shell.run({"encode", "--tokenizer", shell.path("t.tiktoken")}, "\xff").code, 65);
}

TEST(CurtailData, ATokenizerReplacesOnlyATokenizer)
{
    Shell shell;
    ASSERT_TRUE(write_file(shell.path("run.json"), "{}"));
    EXPECT_EQ(
        shell.run({"tokenizer", corpus, "--out", shell.path("run.json"), "--vocabulary", "400"})
            .code,
        64);
    EXPECT_EQ(read_file(shell.path("run.json")).value(), "{}");
    for (int twice = 0; twice < 2; ++twice)
        EXPECT_EQ(shell
                      .run({"tokenizer", corpus, "--out", shell.path("t.tiktoken"), "--vocabulary",
                            "400"})
                      .code,
                  0);
}

TEST(CurtailData, BadInputHasItsExitCodeAndAMessage)
{
    Shell shell;
    auto const missing =
        shell.run({"prepare", shell.path("none.txt"), "--out", shell.path("data")});
    EXPECT_EQ(missing.code, 66);
    EXPECT_THAT(missing.err, HasSubstr("cannot read text " + shell.path("none.txt")));
    ASSERT_TRUE(write_file(shell.path("latin.txt"), "caf\xe9 au lait"));
    auto const latin = shell.run({"prepare", shell.path("latin.txt"), "--out", shell.path("data")});
    EXPECT_EQ(latin.code, 65);
    EXPECT_THAT(latin.err, HasSubstr("not UTF-8 at byte 3"));
    EXPECT_EQ(shell.run({"prepare", corpus, "--out", shell.path("data"), "--held-out", "1.5"}).code,
              64);
    EXPECT_EQ(
        shell.run({"prepare", corpus, "--out", shell.path("data"), "--vocabulary", "10"}).code, 64);
    EXPECT_EQ(shell.run({"prepare", corpus, "--out", shell.path("latin.txt") + "/data"}).code, 73);
    EXPECT_FALSE(std::filesystem::exists(shell.path("data")));
    EXPECT_EQ(shell.run({"verify", shell.path("data")}).code, 66);
}

TEST(CurtailData, AfterAKillNothingIsIncompleteAndTheNextRunSucceeds)
{
    Shell shell;
    std::vector<std::string> const prepare{
        "prepare",      corpus, "--out",          shell.path("data"),
        "--vocabulary", "1000", "--shard-tokens", "50"};
    std::mt19937 random(11);
    for (int i = 0; i < 15; ++i) {
        SCOPED_TRACE("seed 11, kill " + std::to_string(i));
        pid_t const pid = shell.start(prepare);
        usleep(static_cast<useconds_t>(random() % 40'000));
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        if (std::filesystem::exists(shell.path("data"))) {
            auto const whole = verify(shell.path("data"));
            ASSERT_TRUE(whole) << whole.error().message();
            EXPECT_TRUE(whole->good());
            std::filesystem::remove_all(shell.path("data"));
        }
    }
    EXPECT_EQ(shell.run(prepare).code, 0);
    EXPECT_TRUE(verify(shell.path("data"))->good());
    EXPECT_FALSE(std::filesystem::exists(shell.path(".data.part")));
}

}  // namespace
}  // namespace curtail::data
