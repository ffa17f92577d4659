// SPDX-License-Identifier: Apache-2.0
// The program curtail-status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "chain/small_run.hpp"
#include "core/files.hpp"
#include "support/child_process.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// `curtail-status RUN.json <arguments>` on a run in a folder of its own.
class StatusProgram : public testing::Test {
  protected:
    StatusProgram()
    {
        fs::create_directory(folder_ / "store");
        auto const inputs = test::source_folder() / "inputs";
        auto const stated = json::parse_file(inputs / "runs/demo.json").value();
        auto run = *stated.as_object();
        run.set("run", "small")
            .set("folder", folder_.path().string())
            .set("store", "file:" + (folder_ / "store").string());
        run.set("model", (inputs / "models/demo.json").string());
        run.set("sites", json::Array{(inputs / "sites/caiso_north.json").string()});
        auto data = *run.find("data")->as_object();
        run.set("data", data.set("folder", (folder_ / "data").string()));
        std::ofstream(folder_ / "run.json") << json::to_pretty(run);
    }
    void make_run()
    {
        auto const objects = store::open_store("file://" + (folder_ / "store").string()).value();
        chain::test::SmallRun small(*objects);
        small.make();
    }
    curtail::test::Outcome ask(std::vector<std::string> options)
    {
        options.insert(options.begin(),
                       {test::program_path("curtail-status"), (folder_ / "run.json").string()});
        return curtail::test::run_program(std::move(options));
    }
    curtail::test::TemporaryFolder folder_;
};

TEST_F(StatusProgram, ShowsARunThatHasNotStarted)
{
    auto const [code, text] = ask({});
    EXPECT_EQ(code, 0) << text;
    EXPECT_THAT(text, HasSubstr("has not started"));
    fs::remove(folder_ / "store");
    auto const unreachable = ask({});
    EXPECT_EQ(unreachable.code, 0) << unreachable.output;
    EXPECT_THAT(unreachable.output, testing::Not(HasSubstr("has not started")));
    EXPECT_EQ(ask({"--verify"}).code, static_cast<int>(ExitCode::unavailable));
}

TEST_F(StatusProgram, ShowsAndVerifiesARun)
{
    make_run();
    auto const shown = ask({});
    EXPECT_EQ(shown.code, 0) << shown.output;
    EXPECT_THAT(shown.output, HasSubstr("commit    8 (merge"));
    auto const verified = ask({"--verify"});
    EXPECT_EQ(verified.code, 0) << verified.output;
    EXPECT_THAT(verified.output, HasSubstr("is sound"));
    for (std::vector<std::string> const& options :
         {std::vector<std::string>{"--json"}, {"--verify", "--json"}}) {
        auto const answer = ask(options);
        EXPECT_EQ(answer.code, 0);
        auto const document = json::parse(answer.output, "answer");
        ASSERT_TRUE(document) << document.error().message() << answer.output;
        EXPECT_EQ(*document->as_object()->find("run"), json::Value("small"));
    }
}

TEST_F(StatusProgram, PathsPrintsTheFoldersOfARunWithoutReadingThem)
{
    fs::remove(folder_ / "store");
    auto const [code, text] = ask({"--paths"});
    EXPECT_EQ(code, 0) << text;
    auto const folder = folder_.path().string();
    EXPECT_EQ(text, "run     small\nfolder  " + folder + "\ndata    " + folder +
                        "/data\nstore   file://" + folder + "/store\n");
    auto const document = json::parse(ask({"--paths", "--json"}).output, "answer").value();
    EXPECT_EQ(*document.as_object()->find("folder"), json::Value(folder));
}

TEST_F(StatusProgram, ADamagedStoreExitsWith76AndNamesObjectAndReason)
{
    make_run();
    auto const path = folder_ / "store/runs/small/commits/00000004.json";
    auto const good = read_file(path).value();
    auto bad = good;
    bad[100] = static_cast<char>(bad[100] ^ 1);
    std::ofstream(path) << bad;
    auto const [code, text] = ask({"--verify"});
    EXPECT_EQ(code, 76);
    EXPECT_THAT(text, HasSubstr("commits/00000004.json"));
    std::ofstream(path) << good;
    EXPECT_EQ(ask({"--verify"}).code, 0);
    fs::resize_file(folder_ / "store/runs/small/run.json", 300'000);
    EXPECT_EQ(ask({"--verify"}).code, 76);
}

}  // namespace
}  // namespace curtail::status
