// SPDX-License-Identifier: Apache-2.0
// The program curtail-store, on folders and on an S3 server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/core/files.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/child_process.hpp"
#include "support/rgw.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

int code(ExitCode code) { return static_cast<int>(code); }

class StoreProgram : public testing::Test {
  protected:
    StoreProgram() { fs::create_directory(folder_ / "a"); }

    [[nodiscard]] std::string url(std::string const& name) const
    {
        return "file://" + (folder_ / name).string();
    }
    [[nodiscard]] std::unique_ptr<store::ObjectStore> open(std::string const& name) const
    {
        return store::open_store({.url = url(name)}).value();
    }
    static test::Outcome ask(std::vector<std::string> arguments,
                             std::chrono::milliseconds limit = std::chrono::seconds{60})
    {
        arguments.insert(arguments.begin(), test::program_path("curtail-store"));
        return test::run_program(std::move(arguments), limit);
    }
    static json::Object document(test::Outcome const& outcome)
    {
        auto const parsed = json::parse(outcome.output, "output");
        if (!parsed) throw std::runtime_error(outcome.output);
        return *parsed->as_object();
    }
    // Makes the objects of a folder two days old.
    void age(fs::path const& path)
    {
        for (auto const& entry : fs::recursive_directory_iterator(path))
            if (entry.is_regular_file())
                fs::last_write_time(entry,
                                    fs::file_time_type::clock::now() - std::chrono::hours(48));
    }

    test::TemporaryFolder folder_;
};

// A store with the run `small` in folder `a`.
// The site of inputs/sites/caiso_north.json.
constexpr char const* site_name = "CAISO_NORTH";

class OnARun : public StoreProgram {
  protected:
    OnARun() : store_(open("a")), run_(*store_) { run_.make(); }
    void garbage(std::string const& name)
    {
        ASSERT_TRUE(store_->put(*chain::object_name(run_.spec().run, name), store::bytes_of("x")));
    }
    std::unique_ptr<store::ObjectStore> store_;
    chain::test::SmallRun run_;
};

TEST_F(OnARun, LsListsRunsAndCountsObjects)
{
    auto const runs = ask({"ls", url("a")});
    EXPECT_EQ(runs.code, 0) << runs.output;
    EXPECT_THAT(runs.output, HasSubstr("small                                   8        6  "));
    auto const kinds = document(ask({"ls", url("a"), "--run", "small", "--json"}));
    auto const& commits = *kinds.find("kinds")->as_object()->find("commits")->as_object();
    EXPECT_EQ(*commits.find("objects"), json::Value(8));
    auto const objects = ask({"ls", url("a"), "--run", "small", "--long"});
    EXPECT_THAT(objects.output, HasSubstr(" runs/small/commits/00000008.json\n"));
    EXPECT_EQ(ask({"ls", url("a"), "--long"}).code, code(ExitCode::usage));
    EXPECT_EQ(ask({"ls", url("none")}).code, code(ExitCode::unavailable));
    EXPECT_EQ(ask({"ls", "no-such-file.json"}).code, code(ExitCode::no_input));
    EXPECT_EQ(ask({"ls", url("a"), "--run", "../x"}).code, code(ExitCode::usage));
}

TEST_F(OnARun, NamesOfStrangersAreShownSafely)
{
    std::ofstream(folder_ / "a/runs/small/\x1b[31mred") << "x";
    fs::create_directory(folder_ / "a/runs/\x1b[2J");
    std::ofstream(folder_ / "a/runs/\x1b[2J/x") << "x";
    for (std::vector<std::string> const& words :
         {std::vector<std::string>{"ls", url("a")},
          {"ls", url("a"), "--run", "small", "--long"},
          {"ls", url("a"), "--run", "small", "--long", "--json"}}) {
        auto const listed = ask(words);
        EXPECT_EQ(listed.code, 0) << listed.output;
        EXPECT_EQ(listed.output.find('\x1b'), std::string::npos);
    }
    EXPECT_THAT(ask({"ls", url("a"), "--run", "small", "--long"}).output,
                HasSubstr("runs/small/\\x1b[31mred\n"));
}

TEST_F(OnARun, ShowPrintsRecordsAndFactsOfPayloads)
{
    EXPECT_EQ(*document(ask({"show", url("a")})).find("number"), json::Value(8));
    EXPECT_EQ(*document(ask({"show", url("a"), "3", "--json"})).find("number"), json::Value(3));
    EXPECT_EQ(*document(ask({"show", url("a"), "run"})).find("run"), json::Value("small"));
    auto const& part = run_.tip().model.weights;
    EXPECT_THAT(ask({"show", url("a"), part.name}).output, HasSubstr(part.sha256.hex()));
    EXPECT_EQ(ask({"show", url("a"), "99"}).code, code(ExitCode::no_input));
    EXPECT_EQ(ask({"show", url("a"), "../../etc/passwd"}).code, code(ExitCode::usage));
    std::ofstream(folder_ / "a/runs/small/commits/00000003.json") << "{\"number\":3}";
    auto const damaged = ask({"show", url("a"), "3"});
    EXPECT_EQ(damaged.code, code(ExitCode::protocol));
    EXPECT_THAT(damaged.output, HasSubstr("\"number\": 3"));
}

TEST_F(OnARun, VerifyFindsDamage)
{
    auto const good = ask({"verify", url("a")});
    EXPECT_EQ(good.code, 0) << good.output;
    EXPECT_THAT(good.output, HasSubstr("run small in " + url("a") + " is sound"));
    fs::resize_file(folder_ / "a/runs/small/commits/00000003.json", 100);
    EXPECT_EQ(ask({"verify", url("a")}).code, code(ExitCode::protocol));
}

TEST_F(OnARun, ARunIsChosenIfItIsTheOnlyOne)
{
    chain::test::SmallRun other(*store_, {"other"});
    other.make_lone(3);
    auto const unclear = ask({"verify", url("a")});
    EXPECT_EQ(unclear.code, code(ExitCode::usage));
    EXPECT_THAT(unclear.output, HasSubstr("it has 2: other, small; name one with --run"));
    EXPECT_EQ(ask({"verify", url("a"), "--run", "other"}).code, 0);
    fs::create_directory(folder_ / "empty");
    EXPECT_EQ(ask({"verify", url("empty")}).code, code(ExitCode::no_input));
}

TEST_F(OnARun, GcDeletesNothingAndSweepDeletesWhatGcShows)
{
    garbage("models/3/B.0123abcd.9-9/w0.h5");
    garbage("models/9/B.0123abcd.9-9/w0.h5");
    EXPECT_EQ(ask({"gc", url("a")}).code, code(ExitCode::usage));
    auto const young = ask({"gc", url("a"), "--dry-run"});
    EXPECT_EQ(young.code, 0) << young.output;
    EXPECT_THAT(young.output, Not(HasSubstr("delete ")));
    age(folder_ / "a");
    auto const all = ask({"gc", url("a"), "--dry-run", "--long"}).output;
    EXPECT_THAT(all, AllOf(HasSubstr("models/3/B.0123abcd.9-9/w0.h5: its round has another model"),
                           HasSubstr("models/9/B.0123abcd.9-9/w0.h5: its round has not been")));
    auto const shown = document(ask({"gc", url("a"), "--dry-run", "--json"}));
    auto const deletes = shown.find("deletes")->as_array()->size();
    EXPECT_GE(deletes, 3U);
    EXPECT_EQ(document(ask({"gc", url("a"), "--dry-run", "--json"})), shown);
    auto const swept = document(ask({"sweep", url("a"), "--json"}));
    EXPECT_EQ(*swept.find("deleted"), json::Value(static_cast<std::int64_t>(deletes)));
    EXPECT_EQ(ask({"verify", url("a")}).code, 0);
    EXPECT_THAT(ask({"sweep", url("a")}).output, HasSubstr("deleted 0 of 0 objects"));
    EXPECT_FALSE(fs::exists(folder_ / "a/runs/small/models/3/B.0123abcd.9-9"));
    EXPECT_TRUE(fs::exists(folder_ / "a/runs/small/models/9/B.0123abcd.9-9/w0.h5"));
}

TEST_F(OnARun, SweepNeverCreatesAnObjectOfARunThatIsNotThere)
{
    EXPECT_EQ(ask({"sweep", url("a"), "--run", "smal"}).code, code(ExitCode::no_input));
    EXPECT_FALSE(fs::exists(folder_ / "a/runs/smal"));
    EXPECT_EQ(ask({"sweep", url("a"), "--older-than", "0.5"}).code, code(ExitCode::usage));
}

TEST_F(OnARun, TwoSweepsAtOnceLeaveASoundRun)
{
    for (int n = 0; n < 200; ++n)
        garbage("models/" + std::to_string(1 + n % 5) + "/B.0123abcd.9-" + std::to_string(n) +
                "/w0.h5");
    age(folder_ / "a");
    std::vector<std::unique_ptr<test::ChildProcess>> sweeps(2);
    for (std::size_t i = 0; i < sweeps.size(); ++i)
        sweeps[i] = std::make_unique<test::ChildProcess>(
            std::vector<std::string>{test::program_path("curtail-store"), "sweep", url("a")},
            folder_ / ("log" + std::to_string(i)));
    for (auto& sweep : sweeps) EXPECT_EQ(sweep->wait(Seconds{60}), 0);
    EXPECT_EQ(ask({"verify", url("a")}).code, 0);
    EXPECT_THAT(ask({"sweep", url("a")}).output, HasSubstr("deleted 0 of 0 objects"));
}

TEST_F(OnARun, CopyMakesASoundRunAndRefusesOtherDestinations)
{
    fs::create_directory(folder_ / "b");
    auto const copied = ask({"copy", url("a"), url("b")});
    EXPECT_EQ(copied.code, 0) << copied.output;
    EXPECT_THAT(copied.output, HasSubstr("run small, commits 1 to 8, is in " + url("b")));
    EXPECT_EQ(ask({"verify", url("b")}).code, 0);
    EXPECT_EQ(*document(ask({"copy", url("a"), url("b"), "--json"})).find("written"),
              json::Value(0));
    EXPECT_EQ(ask({"copy", url("a"), url("a")}).code, code(ExitCode::usage));
    EXPECT_EQ(ask({"copy", url("a"), url("none")}).code, code(ExitCode::unavailable));
    fs::create_directory(folder_ / "c");
    auto const c = open("c");
    chain::test::SmallRun other(*c, {"small"}, 99);
    other.make_lone(4);
    EXPECT_EQ(ask({"copy", url("a"), url("c")}).code, code(ExitCode::protocol));
}

// Kills copies after growing times until one ends by itself, then compares the result.
void kill_and_resume(std::vector<std::string> const& copy, chain::RunObjects const& to,
                     fs::path const& log)
{
    int killed = 0;
    for (auto patience = Millis{5};; patience += patience / 4 + Millis{2}) {
        test::ChildProcess child(copy, log);
        if (auto const code = child.wait(patience)) {
            EXPECT_EQ(*code, 0) << read_file(log).value();
            break;
        }
        child.kill(SIGKILL);
        (void)child.wait(Seconds{10});
        ++killed;
        // run.json is the last object.
        if (to.spec().value()) { EXPECT_TRUE(chain::verify_run(to)); }
    }
    EXPECT_GE(killed, 3);
    auto const verified = chain::verify_run(to);
    EXPECT_TRUE(verified) << verified.error().message();
}

TEST_F(OnARun, AKilledCopyIsResumed)
{
    fs::create_directory(folder_ / "b");
    auto const b = open("b");
    chain::test::SmallRun long_run(*store_, {"long"}, 1000);
    long_run.make_lone(300);
    kill_and_resume(
        {test::program_path("curtail-store"), "copy", url("a"), url("b"), "--run", "long"},
        {*b, {"long"}}, folder_ / "log");
    EXPECT_EQ(chain::newest_commit({*b, {"long"}}).value(), long_run.tip());
}

TEST_F(OnARun, DoctorFindsAFolderFitAndLeavesNothing)
{
    auto const before = ask({"ls", url("a"), "--run", "small", "--long"}).output;
    auto const fit = ask({"doctor", url("a"), "--run", "small", "--size", "1"});
    EXPECT_EQ(fit.code, 0) << fit.output;
    EXPECT_THAT(fit.output, Not(HasSubstr("fault")));
    EXPECT_EQ(ask({"ls", url("a"), "--run", "small", "--long"}).output, before);
    auto const found = document(ask({"doctor", url("a"), "--size", "0", "--json"}));
    EXPECT_EQ(*found.find("fit"), json::Value(true));
    EXPECT_EQ(found.find("findings")->as_array()->size(), 8U);
}

TEST_F(OnARun, AFullDiskOfTheCacheIsAWarning)
{
    std::ofstream(folder_ / "file") << "x";
    auto const verified = ask({"verify", url("a"), "--cache", (folder_ / "file/cache").string()});
    EXPECT_EQ(verified.code, 0) << verified.output;
    EXPECT_THAT(verified.output, HasSubstr("warning: keeping no copies of the run's records"));
    EXPECT_EQ(ask({"verify", url("a"), "--cache", (folder_ / "cache").string()}).code, 0);
    EXPECT_TRUE(fs::exists(folder_ / "cache/records"));
}

TEST_F(OnARun, CopiesOfCommitsAreInTheFolderOfTheEnvironment)
{
    auto const verify = [&](std::vector<std::string> environment) {
        environment.insert(environment.begin(), {"/usr/bin/env", "-u", "CURTAIL_CACHE"});
        for (auto const& word :
             {test::program_path("curtail-store"), std::string("verify"), url("a")})
            environment.push_back(word);
        EXPECT_EQ(test::run_program(environment).code, 0);
    };
    auto const home = "HOME=" + (folder_ / "home").string();
    verify({"-u", "XDG_CACHE_HOME", home});
    EXPECT_TRUE(fs::exists(folder_ / "home/.cache/curtail/records"));
    verify({home, "XDG_CACHE_HOME=" + (folder_ / "xdg").string()});
    EXPECT_TRUE(fs::exists(folder_ / "xdg/curtail/records"));
    verify({"XDG_CACHE_HOME=" + (folder_ / "other").string(), "CURTAIL_CACHE=none"});
    EXPECT_FALSE(fs::exists(folder_ / "other"));
}

// A run file of one site, with the folder `run`.
json::Object run_file(fs::path const& folder)
{
    auto const inputs = test::source_folder() / "inputs";
    auto run = *json::parse_file(inputs / "runs/demo.json").value().as_object();
    run.set("run", "small").set("folder", (folder / "run").string()).set("store", "file:a");
    run.set("model", (inputs / "models/demo.json").string());
    run.set("sites", json::Array{(inputs / "sites/caiso_north.json").string()});
    return run;
}

TEST_F(OnARun, RepairStoresALostModelFromTheSitesFolder)
{
    auto const file = (folder_ / "run.json").string();
    std::ofstream(file) << json::to_pretty(run_file(folder_.path()));
    auto const repair = [&](std::string const& site) {
        return ask({"repair", file, "--site", site});
    };
    auto const& model = run_.tip().model.weights;
    auto const object = *chain::object_name(run_.spec().run, model.name);
    auto const bytes = store_->get(object, Bytes{1 << 20}).value().value();
    EXPECT_THAT(repair(site_name).output, HasSubstr("intact     " + model.name));
    auto const refused = repair(site_name + std::string("X"));
    EXPECT_EQ(refused.code, code(ExitCode::config));
    EXPECT_THAT(refused.output, HasSubstr("did you mean \"" + std::string(site_name) + "\"?"));

    ASSERT_TRUE(store_->remove(object));
    auto const lost = repair(site_name);
    EXPECT_EQ(lost.code, code(ExitCode::temporary));
    EXPECT_THAT(lost.output, HasSubstr("lost       " + model.name));
    EXPECT_THAT(lost.output, HasSubstr("run this command at the other sites"));

    auto const kept = folder_ / "run/sites" / site_name / "kept";
    fs::create_directories(kept);
    std::ofstream(kept / ("6-w0-" + model.sha256.hex() + ".h5")) << store::text_of(bytes);
    auto const copied = document(ask({"repair", file, "--site", site_name, "--json"}));
    auto const& part = *copied.find("parts")->as_array()->at(0).as_object();
    EXPECT_EQ(*part.find("outcome"), json::Value("copied"));
    EXPECT_EQ(repair(site_name).code, 0);
    EXPECT_EQ(store_->get(object, Bytes{1 << 20}).value().value(), bytes);
}

TEST_F(OnARun, ARunFileNamesTheStoreAndTheRun)
{
    auto run = run_file(folder_.path());
    auto const file = (folder_ / "run.json").string();
    std::ofstream(file) << json::to_pretty(run);
    EXPECT_EQ(ask({"verify", file}).code, 0);
    EXPECT_EQ(ask({"verify", file, "--run", "small"}).code, code(ExitCode::usage));
    fs::create_directory(folder_ / "b");
    EXPECT_EQ(ask({"copy", file, url("b")}).code, 0);
    EXPECT_EQ(ask({"copy", url("b"), file}).code, 0) << "the other way there is nothing to do";
    std::ofstream(file) << json::to_pretty(run.set("run", "other"));
    EXPECT_EQ(ask({"copy", url("b"), file}).code, code(ExitCode::usage));
}

// The same with a bucket.
class OnABucket : public StoreProgram {
  protected:
    static void SetUpTestSuite()
    {
        rgw = std::make_unique<test::Rgw>();
        bucket_name = rgw->make_bucket("runs");
        stranger = rgw->add_user("stranger");
    }
    static void TearDownTestSuite() { rgw.reset(); }

    [[nodiscard]] static std::vector<std::string> access(std::string const& user = "owner")
    {
        return {"--endpoint", rgw->endpoint(), "--credentials", rgw->credentials(user).string()};
    }
    static test::Outcome ask(std::vector<std::string> words, std::string const& user = "owner")
    {
        auto const more = access(user);
        words.insert(words.end(), more.begin(), more.end());
        return StoreProgram::ask(std::move(words));
    }
    static std::unique_ptr<store::ObjectStore> bucket(std::string const& prefix)
    {
        return store::open_store({.url = in_bucket(prefix),
                                  .access = {.endpoint = rgw->endpoint(),
                                             .credentials = {.file = rgw->credentials()}}})
            .value();
    }
    static std::string in_bucket(std::string const& prefix)
    {
        return "s3://" + bucket_name + "/" + prefix;
    }
    static inline std::unique_ptr<test::Rgw> rgw;
    static inline std::string bucket_name;
    static inline std::string stranger;
};

TEST_F(OnABucket, DoctorFindsItFitAndTheOwnerOfAnotherKeyUnfit)
{
    auto const fit = ask({"doctor", in_bucket("x"), "--size", "1"});
    EXPECT_EQ(fit.code, 0) << fit.output;
    EXPECT_THAT(fit.output, HasSubstr("good     versioning"));
    auto const refused = ask({"doctor", in_bucket("x"), "--size", "1"}, stranger);
    EXPECT_EQ(refused.code, code(ExitCode::permission)) << refused.output;
    EXPECT_EQ(ask({"doctor", "s3://none/x"}).code, code(ExitCode::unavailable));
}

TEST_F(OnABucket, AKilledCopyToItIsResumedAndCopiedBack)
{
    auto const a = open("a");
    chain::test::SmallRun run(*a);
    run.make();
    auto copy = access();
    copy.insert(copy.begin(),
                {test::program_path("curtail-store"), "copy", url("a"), in_bucket("copies")});
    auto const to = bucket("copies");
    kill_and_resume(copy, {*to, {"small"}}, folder_ / "log");
    fs::create_directory(folder_ / "back");
    auto const back = ask({"copy", in_bucket("copies"), url("back")});
    EXPECT_EQ(back.code, 0) << back.output;
    EXPECT_EQ(StoreProgram::ask({"verify", url("back")}).code, 0);
    EXPECT_EQ(ask({"verify", in_bucket("copies")}).code, 0);
    EXPECT_THAT(ask({"ls", in_bucket("copies")}).output, HasSubstr("small "));
}

TEST_F(OnABucket, ASweepWithTheKeyOfAStrangerIsRefused)
{
    auto const store = bucket("swept");
    chain::test::SmallRun run(*store);
    run.make();
    EXPECT_EQ(ask({"sweep", in_bucket("swept")}).code, 0);
    EXPECT_EQ(ask({"sweep", in_bucket("swept"), "--run", "small"}, stranger).code,
              code(ExitCode::permission));
    EXPECT_EQ(ask({"gc", in_bucket("swept"), "--dry-run", "--run", "small"}, stranger).code,
              code(ExitCode::permission));
}

}  // namespace
}  // namespace curtail
