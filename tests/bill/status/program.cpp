// SPDX-License-Identifier: Apache-2.0
// The program curtail-status.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <regex>

#include "base/core/columns.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "protocol/chain/small_run.hpp"
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
        auto const objects =
            store::open_store(store::Address::of_folder(folder_ / "store")).value();
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

TEST_F(StatusProgram, InAFolderThatWasRemovedAPathMustBeAbsolute)
{
    auto const gone = (folder_ / "gone").string();
    auto const [code, text] = curtail::test::run_program(
        {"/bin/sh", "-c",
         "mkdir " + gone + " && cd " + gone + " && rmdir " + gone + " && exec " +
             test::program_path("curtail-status") + " run.json"});
    EXPECT_EQ(code, 66) << text;
    EXPECT_THAT(text, HasSubstr("cannot find the current folder: No such file or directory; "
                                "change to a folder that exists"));
}

TEST_F(StatusProgram, AnEnormousLogIsAProblemThatNamesIt)
{
    make_run();
    for (auto const* log : {"poller/sites/CAISO_NORTH/events.jsonl",
                            "sites/CAISO_NORTH/events.jsonl", "sites/CAISO_NORTH/metrics.jsonl"}) {
        fs::create_directories((folder_ / log).parent_path());
        std::ofstream(folder_ / log).close();
        fs::resize_file(folder_ / log, std::uintmax_t{1} << 36);
        auto const [code, text] = ask({});
        EXPECT_EQ(code, 0) << text;
        // Lines are broken at 80 columns.
        auto const words = std::regex_replace(text, std::regex("\n +"), " ");
        EXPECT_THAT(words, HasSubstr((folder_ / log).string()));
        EXPECT_THAT(words, HasSubstr("it has 68719476736 bytes"));
        fs::remove(folder_ / log);
    }
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

TEST_F(StatusProgram, NotesABudgetThatWasChangedAfterTheStart)
{
    make_run();
    EXPECT_THAT(ask({}).output, testing::Not(HasSubstr("budget")));
    auto const text = read_file(folder_ / "run.json").value();
    auto const at = text.find("\"batch_tokens\"");
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(
        write_file(folder_ / "run.json", std::string(text).insert(at, "\"tokens\": 5000, ")));
    auto const [code, output] = ask({});
    EXPECT_EQ(code, 0) << output;
    EXPECT_THAT(output, testing::AllOf(HasSubstr("run.json states a budget of 5000 tokens, but"),
                                       HasSubstr("state no budget, which jobs use")));
}

TEST_F(StatusProgram, FitsIntoTheColumnsOfATerminal)
{
    make_run();
    for (auto const& options : {std::vector<std::string>{}, {"--verify"}}) {
        auto const output = ask(options).output;
        for (auto const line : split(output, '\n')) {
            bool const is_path = line.find("file://") != std::string_view::npos;
            EXPECT_TRUE(is_path || width_of(line) <= terminal_columns) << line;
        }
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

TEST_F(StatusProgram, OfADamagedStoreShowsTheSitesAndExportsThatItIsDown)
{
    make_run();
    fs::resize_file(folder_ / "store/runs/small/run.json", 10);
    auto const [code, text] = ask({});
    EXPECT_EQ(code, 76);
    EXPECT_THAT(text, HasSubstr("cannot be shown: "));
    EXPECT_THAT(text, HasSubstr("CAISO_NORTH      window unknown"));
    EXPECT_EQ(ask({"--prometheus", (folder_ / "run.prom").string()}).code, 76);
    EXPECT_THAT(read_file(folder_ / "run.prom").value(),
                HasSubstr("curtail_store_up{run=\"small\"} 0\n"));
}

TEST_F(StatusProgram, APipeInPlaceOfALogIsANoteAndIsNotRead)
{
    make_run();
    fs::create_directories(folder_ / "sites/CAISO_NORTH");
    ASSERT_EQ(mkfifo((folder_ / "sites/CAISO_NORTH/metrics.jsonl").c_str(), 0600), 0);
    auto const [code, text] = ask({});
    EXPECT_EQ(code, 0) << text;
    EXPECT_THAT(text, HasSubstr("note: "));
}

TEST_F(StatusProgram, WritesMetricsForPrometheus)
{
    make_run();
    auto const file = (folder_ / "small.prom").string();
    auto const [code, text] = ask({"--prometheus", file});
    EXPECT_EQ(code, 0) << text;
    EXPECT_EQ(text, "");
    EXPECT_THAT(read_file(file).value(), HasSubstr("curtail_run_commits_total{run=\"small\"} 8\n"));
    EXPECT_EQ(ask({"--prometheus", file}).code, 0) << "its own file is replaced";
    std::ofstream(file) << "notes";
    EXPECT_EQ(ask({"--prometheus", file}).code, static_cast<int>(ExitCode::usage));
    EXPECT_EQ(read_file(file).value(), "notes");
}

TEST_F(StatusProgram, RefusesToWatchOrExportWhatItDoesNotShow)
{
    for (std::vector<std::string> const& options : {std::vector<std::string>{"--watch", "--verify"},
                                                    {"--paths", "--watch"},
                                                    {"--prometheus", "x.prom", "--verify"},
                                                    {"--prometheus", "x.prom", "--json"}})
        EXPECT_EQ(ask(options).code, static_cast<int>(ExitCode::usage));
}

TEST_F(StatusProgram, WatchRepeatsUntilASignalAndExitsWith0)
{
    make_run();
    for (int const signal : {SIGINT, SIGTERM}) {
        auto const log = folder_ / ("log" + std::to_string(signal));
        curtail::test::ChildProcess child({curtail::test::program_path("curtail-status"),
                                           (folder_ / "run.json").string(), "--watch", "0.1"},
                                          log);
        auto const blocks = [&] {
            auto const text = read_file(log).value_or("");
            int count = 0;
            for (auto at = text.find("run  "); at != text.npos; at = text.find("run  ", at + 1))
                ++count;
            return count;
        };
        EXPECT_TRUE(curtail::test::eventually([&] { return blocks() >= 3; }));
        child.kill(signal);
        EXPECT_EQ(child.wait(Seconds{10}), 0);
        auto const text = read_file(log).value();
        EXPECT_EQ(text.rfind("run       small in file", 0), 0U);
        EXPECT_THAT(text, HasSubstr("\n\nrun       small in file"));
        EXPECT_EQ(text.find('\x1b'), text.npos) << "no escape sequence in a file";
    }
}

TEST_F(StatusProgram, ASignalEndsAWatchOfAStoreThatDoesNotAnswer)
{
    make_run();
    Fd const server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(server.get(), any, size), 0);
    ASSERT_EQ(listen(server.get(), 4), 0);
    ASSERT_EQ(getsockname(server.get(), any, &size), 0);
    ASSERT_TRUE(write_file(folder_ / "keys",
                           "[default]\naws_access_key_id = a\naws_secret_access_key = b\n", 0600));
    auto text = read_file(folder_ / "run.json").value();
    auto const begin = text.find("\"store\"");
    text.replace(begin, text.find(',', begin) - begin,
                 R"("store": "s3://bucket/p", "s3": {"endpoint": "http://127.0.0.1:)" +
                     std::to_string(ntohs(address.sin_port)) + R"(", "credentials": "keys"})");
    ASSERT_TRUE(write_file(folder_ / "run.json", text));
    curtail::test::ChildProcess child(
        {curtail::test::program_path("curtail-status"), (folder_ / "run.json").string(), "--watch"},
        folder_ / "log");
    pollfd asks{server.get(), POLLIN, 0};
    ASSERT_EQ(poll(&asks, 1, 10'000), 1) << read_file(folder_ / "log").value_or("");
    child.kill(SIGTERM);
    EXPECT_EQ(child.wait(Seconds{5}), 0);
}

TEST_F(StatusProgram, WatchClearsTheScreenOfATerminal)
{
    make_run();
    Fd const terminal(posix_openpt(O_RDWR | O_NOCTTY));
    ASSERT_TRUE(terminal && grantpt(terminal.get()) == 0 && unlockpt(terminal.get()) == 0);
    curtail::test::ChildProcess child({curtail::test::program_path("curtail-status"),
                                       (folder_ / "run.json").string(), "--watch", "0.1"},
                                      ptsname(terminal.get()));
    std::string shown;
    auto const clears = [&] {
        std::array<char, 4096> buffer{};
        auto const n = read(terminal.get(), buffer.data(), buffer.size());
        if (n > 0) shown.append(buffer.data(), static_cast<std::size_t>(n));
        auto const at = shown.rfind("\x1b[H\x1b[2Jrun       small");
        return at != shown.npos && at > 0;
    };
    EXPECT_TRUE(curtail::test::eventually(clears));
    child.kill(SIGINT);
    EXPECT_EQ(child.wait(Seconds{10}), 0);
}

TEST_F(StatusProgram, WatchSurvivesAFailedRefresh)
{
    make_run();
    auto const record = folder_ / "store/runs/small/run.json";
    auto const good = read_file(record).value();
    std::ofstream(record) << "{}";
    auto const log = folder_ / "log";
    curtail::test::ChildProcess child({curtail::test::program_path("curtail-status"),
                                       (folder_ / "run.json").string(), "--watch", "0.1"},
                                      log);
    auto const shows = [&](char const* text) {
        return curtail::test::eventually(
            [&] { return read_file(log).value_or("").find(text) != std::string::npos; });
    };
    EXPECT_TRUE(shows("run.json"));
    ASSERT_TRUE(write_file(record, good));
    EXPECT_TRUE(shows("commit    8 (merge"));
    child.kill(SIGTERM);
    EXPECT_EQ(child.wait(Seconds{10}), 0);
}

}  // namespace
}  // namespace curtail::status
