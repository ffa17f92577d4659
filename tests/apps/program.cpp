#include "apps/program.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::apps {
namespace {

struct Seen {
    Arguments arguments;
    bool ran{false};
};

int run_with(Seen& seen, std::vector<char const*> words, std::string* error = nullptr)
{
    Program const program{"curtail-x",
                          "A test.",
                          {{"go",
                            "Goes.",
                            {{"speed", Kind::number, "FACTOR", "1", "How fast."}, {"dry-run", Kind::flag, "", "", "Only say."}},
                            {{"RUN", "The run.", false}},
                            [&](Arguments const& a, Console const&) -> Result<void> {
                                seen = {a, true};
                                return {};
                            }}},
                          ""};
    words.insert(words.begin(), "curtail-x");
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    int const code = run(program, static_cast<int>(words.size()), words.data());
    auto const text = testing::internal::GetCapturedStderr();
    (void)testing::internal::GetCapturedStdout();
    if (error != nullptr) *error = text;
    return code;
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
    EXPECT_EQ(run_with(seen, {"go", "--config", config.c_str(), "--speed", "7", "demo"}, &error), 0) << error;
    EXPECT_EQ(seen.arguments.number("speed"), 7);
    EXPECT_EQ(seen.arguments.text("RUN"), "demo");
    unsetenv("CURTAIL_SPEED");
}

TEST(Program, WrongWordsAreUsageErrorsThatNameTheNearest)
{
    Seen seen;
    std::string error;
    EXPECT_EQ(run_with(seen, {"go", "--sped", "3"}, &error), 64);
    EXPECT_NE(error.find("did you mean \"--speed\"?"), std::string::npos) << error;
    EXPECT_EQ(run_with(seen, {"og"}, &error), 64);
    EXPECT_NE(error.find("did you mean \"go\"?"), std::string::npos) << error;
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

TEST(Program, HelpAndVersionSucceed)
{
    Seen seen;
    EXPECT_EQ(run_with(seen, {"--help"}), 0);
    EXPECT_EQ(run_with(seen, {"go", "--help"}), 0);
    EXPECT_EQ(run_with(seen, {"--version"}), 0);
    EXPECT_FALSE(seen.ran);
}

}  // namespace
}  // namespace curtail::apps
