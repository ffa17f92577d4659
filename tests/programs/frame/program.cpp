// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/core/files.hpp"
#include "support/own_options.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::programs {
namespace {

// What the command received.
struct Seen {
    Arguments arguments;
    bool ran{false};
    bool json{false};
    std::string output{};
};

// Sets an environment variable for the lifetime of the object.
class Variable {
  public:
    Variable(char const* name, char const* value) : name_(name) { setenv(name, value, 1); }
    ~Variable() { unsetenv(name_); }
    Variable(Variable const&) = delete;
    Variable& operator=(Variable const&) = delete;

  private:
    char const* name_;
};

int run_with(Seen& seen, std::vector<char const*> words, std::string* error = nullptr)
{
    Program const program{
        "curtail-x",
        "A test.",
        {{"go",
          "Goes.",
          {{"speed", OptionType::number, "FACTOR", "1", "How fast."},
           {"steps", OptionType::integer, "NUMBER", "", "How many."},
           {"threads", OptionType::integer, "N", "", "CPU threads.", false, false, {1, 8}},
           {"watch", OptionType::number, "SECONDS", "", "Repeat.", false, false, {0, 60}, "5"},
           {"out", OptionType::text, "FILE", "", "Output."},
           {"job", OptionType::text, "ID", "", "Which job."},
           {"site", OptionType::text, "SITE", "", "Which.", false, true},
           {"dry-run", OptionType::flag, "", "", "Only print."}},
          {{"RUN", "The run.", false}, {"TEXT", "Texts.", false, true}},
          [&](Arguments const& a, Console const& console) -> Result<void> {
              seen = {a, true, console.json};
              console.print("result\n");
              console.print("more\n");
              return {};
          },
          true,
          "curtail-x go --speed 2"}},
        "\nExample: curtail-x go\n"};
    words.insert(words.begin(), "curtail-x");
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    int const code = run(program, static_cast<int>(words.size()), words.data());
    auto const text = testing::internal::GetCapturedStderr();
    seen.output = testing::internal::GetCapturedStdout();
    if (error != nullptr) *error = text;
    return code;
}

TEST(Programs, WithoutMemoryExitWithAnOperatingSystemError)
{
    Program const program{"curtail-x",
                          "A test.",
                          {{"", "", {}, {}, [](Arguments const&, Console const&) -> Result<void> {
                                throw std::bad_alloc();
                            }}}};
    std::array<char const*, 1> words{"curtail-x"};
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(program, 1, words.data()), 71);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("the system gives no more memory"),
              std::string::npos);
}

TEST(Program, FlagBeatsEnvironmentBeatsFileBeatsDefault)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "c.json", "{\"speed\": 3} // three"));
    auto const config = (folder / "c.json").string();
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go"}), 0);
    EXPECT_EQ(seen.arguments.number("speed"), 1);
    EXPECT_EQ(run_with(seen, {"go", "--config", config.c_str()}), 0);
    EXPECT_EQ(seen.arguments.number("speed"), 3);
    setenv("CURTAIL_SPEED", "5", 1);
    EXPECT_EQ(run_with(seen, {"go", "--config", config.c_str()}), 0);
    EXPECT_EQ(seen.arguments.number("speed"), 5);
    EXPECT_EQ(run_with(seen, {"go", "--config", config.c_str(), "--speed", "7", "demo"}, &error), 0)
        << error;
    EXPECT_EQ(seen.arguments.number("speed"), 7);
    EXPECT_EQ(seen.arguments.text("RUN"), "demo");
    unsetenv("CURTAIL_SPEED");
}

TEST(Program, ExplicitFlagBeatsEnvironmentBeatsFile)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "c.json", "{\"dry-run\": true, \"json\": true}"));
    auto const config = (folder / "c.json").string();
    Seen seen;
    auto const with = [&](std::vector<char const*> words) {
        EXPECT_EQ(run_with(seen, std::move(words)), 0);
        return seen.arguments.flag("dry-run");
    };
    EXPECT_FALSE(with({"go"}));
    EXPECT_FALSE(seen.json);
    EXPECT_TRUE(with({"go", "--config", config.c_str()}));
    EXPECT_TRUE(seen.json);
    for (auto const* no : {"0", "false", "no"}) {
        Variable const variable("CURTAIL_DRY_RUN", no);
        EXPECT_FALSE(with({"go", "--config", config.c_str()})) << no;
        EXPECT_TRUE(with({"go", "--dry-run"})) << no;
    }
    for (auto const* yes : {"1", "true", "yes"}) {
        Variable const variable("CURTAIL_DRY_RUN", yes);
        EXPECT_TRUE(with({"go"})) << yes;
        EXPECT_FALSE(with({"go", "--dry-run=false"})) << yes;
    }
    Variable const json("CURTAIL_JSON", "1");
    EXPECT_FALSE(with({"go"}));
    EXPECT_TRUE(seen.json);
}

TEST(Program, AnOptionWithAnImpliedValueNeedsNone)
{
    struct Case {
        std::vector<char const*> words;
        double value;
        char const* run;
    };
    for (auto const& [words, value, run] : {
             Case{{"go", "--watch"}, 5, ""},
             Case{{"go", "--watch", "r.json"}, 5, "r.json"},
             Case{{"go", "--watch", "2.5", "r.json"}, 2.5, "r.json"},
             Case{{"go", "--watch=2", "r.json"}, 2, "r.json"},
             Case{{"go", "r.json", "--watch", "--dry-run"}, 5, "r.json"},
         }) {
        Seen seen;
        std::string error;
        ASSERT_EQ(run_with(seen, words, &error), 0) << error;
        EXPECT_EQ(seen.arguments.number("watch"), value);
        EXPECT_EQ(seen.arguments.text("RUN"), run);
    }
    Seen seen;
    ASSERT_EQ(run_with(seen, {"go", "--", "--watch"}), 0);
    EXPECT_EQ(seen.arguments.text("RUN"), "--watch");
    EXPECT_FALSE(seen.arguments.has("watch"));
    EXPECT_EQ(run_with(seen, {"go", "--watch", "61"}), 64) << "a number is its value";
    EXPECT_EQ(run_with(seen, {"go", "--watch=x"}), 64);
}

TEST(Program, RejectsOtherWordsForAFlag)
{
    Variable const variable("CURTAIL_DRY_RUN", "maybe");
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go"}, &error), 64);
    EXPECT_NE(error.find("CURTAIL_DRY_RUN=maybe: must be true or false"), std::string::npos)
        << error;
    EXPECT_FALSE(seen.ran);
}

TEST(Program, RejectsNumbersOutOfRangeAndInOtherNotations)
{
    Seen seen;
    for (auto const* steps :
         {"99999999999999999999", "-99999999999999999999", "1.5", "", " 1", "0x10"})
        EXPECT_EQ(run_with(seen, {"go", "--steps", steps}), 64) << steps;
    for (auto const* speed : {"1e999", "nan", "inf", "1,5"})
        EXPECT_EQ(run_with(seen, {"go", "--speed", speed}), 64) << speed;
    EXPECT_FALSE(seen.ran);
    EXPECT_EQ(run_with(seen, {"go", "--steps", "-9223372036854775808"}), 0);
    EXPECT_EQ(seen.arguments.integer("steps"), std::numeric_limits<std::int64_t>::min());
}

TEST(Program, RepeatedArgumentsKeepTheirOrder)
{
    Seen seen;
    EXPECT_EQ(run_with(seen, {"go", "demo", "a", "b", "c", "--site", "A", "--site", "B"}), 0);
    EXPECT_EQ(seen.arguments.text("RUN"), "demo");
    EXPECT_EQ(seen.arguments.values_of("TEXT"), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(seen.arguments.values_of("site"), (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(run_with(seen, {"go", "--job", "1", "--job", "2"}), 64);
}

TEST(Program, ChecksRangesFromEverySource)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "c.json", "{\"threads\": 9}"));
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", "--threads", "8"}), 0);
    EXPECT_EQ(run_with(seen, {"go", "--threads", "1"}), 0);
    seen.ran = false;
    EXPECT_EQ(run_with(seen, {"go", "--threads", "0"}, &error), 64);
    EXPECT_NE(error.find("--threads: must be an integer from 1 to 8"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"go", "--config", (folder / "c.json").c_str()}, &error), 78);
    EXPECT_NE(error.find("threads: must be an integer from 1 to 8"), std::string::npos) << error;
    Variable const variable("CURTAIL_THREADS", "9");
    EXPECT_EQ(run_with(seen, {"go"}, &error), 64);
    EXPECT_NE(error.find("CURTAIL_THREADS=9: must be"), std::string::npos) << error;
    EXPECT_FALSE(seen.ran);
}

struct RangeCase {
    NumberRange range;
    char const* refused;
    char const* allowed;
    char const* problem;
};

TEST(Options, StateTheRangeOfANumber)
{
    constexpr double any = NumberRange{}.max;
    for (auto const& c :
         {RangeCase{{0, 1e6, true}, "0", "1e-9", "must be a number above 0 and at most 1000000"},
          RangeCase{{0, any, true}, "-0", "1e9", "must be a number above 0"},
          RangeCase{{0.1, 3600}, "0.05", "0.1", "must be a number from 0.1 to 3600"},
          RangeCase{{2, any}, "1.9", "2", "must be a number of at least 2"},
          RangeCase{{-any, 2}, "2.1", "2", "must be a number of at most 2"}}) {
        Option const option{"x", OptionType::number, "N", "", "", false, false, c.range};
        EXPECT_EQ(problem_with(option, c.refused), c.problem);
        EXPECT_EQ(problem_with(option, c.allowed), "");
    }
}

TEST(Program, OptionsInAFileMustHaveTheirType)
{
    test::TemporaryFolder const folder;
    auto const config = (folder / "c.json").string();
    Seen seen;
    std::string error;
    auto const with = [&](char const* text) {
        EXPECT_TRUE(write_file(config, text));
        return run_with(seen, {"go", "--config", config.c_str()}, &error);
    };
    EXPECT_EQ(with(R"({"out": "x", "steps": 3, "speed": 2, "site": ["A", "B"]})"), 0) << error;
    EXPECT_EQ(seen.arguments.text("out"), "x");
    EXPECT_EQ(seen.arguments.integer("steps"), 3);
    EXPECT_EQ(seen.arguments.values_of("site"), (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(with(R"({"out": {"a": 1}})"), 78);
    EXPECT_NE(error.find("c.json: out: must be text, found object"), std::string::npos) << error;
    for (auto const* wrong :
         {R"({"out": 3})", R"({"out": ["x"]})", R"({"steps": "3"})", R"({"steps": 1.5})",
          R"({"speed": null})", R"({"site": ["A", 3]})", R"({"dry-run": 1})"})
        EXPECT_EQ(with(wrong), 78) << wrong;
    EXPECT_EQ(run_with(seen, {"go", "--config", (folder / "none.json").c_str()}, &error), 66)
        << error;
}

TEST(Program, RejectsEmptyNamesAndPaths)
{
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", ""}, &error), 64);
    EXPECT_NE(error.find("RUN: must not be empty"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"go", "--out", ""}, &error), 64);
    EXPECT_NE(error.find("--out: must not be empty"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"go", "--out="}, &error), 64);
    EXPECT_EQ(run_with(seen, {"go", "--config", ""}, &error), 64);
    EXPECT_NE(error.find("--config: must not be empty"), std::string::npos) << error;
    EXPECT_FALSE(seen.ran);
    EXPECT_EQ(run_with(seen, {"go", "--job", ""}, &error), 0)
        << "other text may be empty; " << error;
    Variable const variable("CURTAIL_OUT", "");
    EXPECT_EQ(run_with(seen, {"go"}, &error), 0) << error;
    EXPECT_FALSE(seen.arguments.has("out")) << "an empty variable counts as unset";
}

TEST(Program, EscapesTerminalControlSequencesInErrors)
{
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", "--config", "no\x1b[2J\nforged: line"}, &error), 66);
    EXPECT_EQ(error.find('\x1b'), std::string::npos);
    EXPECT_NE(error.find("no\\x1b[2J\\x0aforged"), std::string::npos) << error;
}

// The exit code of `words` with stdout at `path`.
int code_with_output_at(char const* path, std::vector<char const*> words)
{
    Seen seen;
    int const kept = dup(STDOUT_FILENO);
    int const sink = open(path, O_WRONLY | O_CLOEXEC);
    // Without gtest's capture of stdout: the result goes to the sink.
    Program const program{"curtail-x",
                          "A test.",
                          {{"",
                            "",
                            {},
                            {},
                            [](Arguments const&, Console const& console) -> Result<void> {
                                console.print("result\n");
                                return {};
                            }}},
                          ""};
    words.insert(words.begin(), "curtail-x");
    dup2(sink, STDOUT_FILENO);
    int const code = run(program, static_cast<int>(words.size()), words.data());
    dup2(kept, STDOUT_FILENO);
    close(sink);
    close(kept);
    return code;
}

TEST(Program, FailedWriteToStdoutIsExit74)
{
    testing::internal::CaptureStderr();
    EXPECT_EQ(code_with_output_at("/dev/full", {}), 74);
    EXPECT_EQ(code_with_output_at("/dev/full", {"--help"}), 74);
    EXPECT_EQ(code_with_output_at("/dev/full", {"--version"}), 74);
    EXPECT_EQ(code_with_output_at("/dev/null", {}), 0);
    EXPECT_NE(testing::internal::GetCapturedStderr().find(
                  "cannot write to standard output: No space left"),
              std::string::npos);
}

TEST(Program, ClosedPipeIsNotAnError)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    auto* const before = signal(SIGPIPE, SIG_DFL);
    EXPECT_EQ(code_with_output_at(("/proc/self/fd/" + std::to_string(ends[1])).c_str(), {}), 0);
    signal(SIGPIPE, before);
    close(ends[1]);
}

TEST(Program, EndsAtOnceWithoutExitHandlers)
{
    auto const end = [] {
        (void)std::atexit([] { (void)write_all(STDERR_FILENO, "handler"); });
        std::fputs("flushed", stderr);
        end_at_once(3);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(3), "^flushed$");
}

TEST(Program, RestoresSigchldThatTheCallerIgnored)
{
    signal(SIGCHLD, SIG_IGN);
    Seen seen;
    EXPECT_EQ(run_with(seen, {"go"}), 0);
    EXPECT_EQ(signal(SIGCHLD, SIG_DFL), SIG_DFL);
}

TEST(Program, UsageErrorsNameTheNearestOptionOrCommand)
{
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", "--sped", "3"}, &error), 64);
    EXPECT_NE(error.find("did you mean \"--speed\"?"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"og"}, &error), 64);
    EXPECT_EQ(error, "curtail-x: unknown command og: did you mean \"go\"? See curtail-x --help\n");
    EXPECT_EQ(run_with(seen, {"go", "--jsn"}, &error), 64);
    EXPECT_NE(error.find("did you mean \"--json\"?"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"zzzzzzzz"}, &error), 64);
    EXPECT_EQ(error, "curtail-x: unknown command zzzzzzzz: known: go; see curtail-x --help\n");
    EXPECT_EQ(run_with(seen, {"go", "-x"}, &error), 64);
    EXPECT_NE(error.find("unknown option -x"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"go", "run.json", "--speed", "-2", "-x"}, &error), 64);
    EXPECT_NE(error.find("unknown option -x"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"go", "--speed", "fast"}, &error), 64);
    EXPECT_EQ(run_with(seen, {}, &error), 64);
    EXPECT_FALSE(seen.ran);
}

TEST(Program, UnknownKeyInTheFileIsAConfigurationError)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "c.json", "{\"sped\": 3}"));
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", "--config", (folder / "c.json").c_str()}, &error), 78);
    EXPECT_NE(error.find("did you mean \"speed\"?"), std::string::npos) << error;
}

TEST(Program, HelpOfACommandShowsItsOwnExample)
{
    Seen seen;
    EXPECT_EQ(run_with(seen, {"go", "--help"}), 0);
    EXPECT_NE(seen.output.find("\nExample: curtail-x go --speed 2\n"), std::string::npos)
        << seen.output;
    EXPECT_NE(seen.output.find("\nExit codes: "), std::string::npos) << seen.output;
    EXPECT_EQ(run_with(seen, {"--help"}), 0);
    EXPECT_NE(seen.output.find("\nExample: curtail-x go\n"), std::string::npos) << seen.output;
}

TEST(Program, HelpAndVersionSucceed)
{
    Seen seen;
    EXPECT_EQ(run_with(seen, {"--help"}), 0);
    EXPECT_EQ(run_with(seen, {"go", "--help"}), 0);
    EXPECT_EQ(run_with(seen, {"--version"}), 0);
    EXPECT_FALSE(seen.ran);
}

}  // namespace
}  // namespace curtail::programs
