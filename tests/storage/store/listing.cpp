// SPDX-License-Identifier: Apache-2.0
// Listings of stores to which somebody has written other things than objects of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "storage/s3/bucket.hpp"
#include "storage/store/posix_listing.hpp"
#include "storage/store/posix_store.hpp"
#include "storage/store/s3_store.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_store.hpp"
#include "support/rgw.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

ObjectFolder const run_folder = *ObjectFolder::parse("runs/r");
ObjectName const record = *ObjectName::parse("runs/r/commits/00000001.json");

std::vector<std::string> names_in(ObjectStore& store, ObjectFolder const& folder = run_folder)
{
    auto const listing = store.list_all(folder);
    if (!listing) throw std::runtime_error(listing.error().message());
    std::vector<std::string> names;
    for (auto const& object : *listing) names.push_back(object.name);
    return names;
}

TEST(ObjectFolder, HasPlainSegmentsBelowRuns)
{
    for (auto const* good : {"runs", "runs/demo", "runs/demo/models/7", "runs/demo/contrib/A.01.2"})
        EXPECT_EQ(ObjectFolder::parse(good)->text(), good);
    for (std::string const bad : {"", "/", "runs/", "run", "runs//a", "runs/..", "runs/a/../b",
                                  "runs/.hidden", "/runs", "runs/a b", "runs/a\n", "../runs"})
        EXPECT_EQ(ObjectFolder::parse(bad).error().code, ExitCode::protocol) << bad;
    EXPECT_FALSE(ObjectFolder::parse("runs/" + std::string(300, 'a')));
}

class Folder : public testing::TestWithParam<Lookup> {
  protected:
    Folder() : store_(*PosixStore::open(folder_.path(), IfMissing::refuse, GetParam()))
    {
        fs::create_directories(folder_ / "runs/r/commits");
    }
    void write(std::string const& name) { std::ofstream(folder_ / name) << "x"; }
    test::TemporaryFolder folder_;
    std::unique_ptr<PosixStore> store_;
};

TEST_P(Folder, HostileNamesAreListedAsTheyAre)
{
    std::vector<std::string> const names{"runs/r/\x1b[31m", "runs/r/a\nb", "runs/r/commits/x.json",
                                         "runs/r/\xff\xfe", "runs/r/-rf",  "runs/r/..."};
    for (auto const& name : names) write(name);
    fs::create_directory(folder_ / "runs/r/\n");
    write("runs/r/\n/x");
    auto expected = names;
    expected.push_back("runs/r/\n/x");
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(names_in(*store_), expected);
}

TEST_P(Folder, OnlyRegularFilesAreListedAndNoLinkIsFollowed)
{
    test::TemporaryFolder const outside;
    std::ofstream(outside / "secret") << "x";
    fs::create_directory_symlink(outside.path(), folder_ / "runs/r/models");
    fs::create_symlink(outside / "secret", folder_ / "runs/r/commits/00000001.json");
    ASSERT_EQ(mkfifo((folder_ / "runs/r/commits/pipe").c_str(), 0600), 0);
    write("runs/r/run.json");
    EXPECT_THAT(names_in(*store_), ElementsAre("runs/r/run.json"));
    EXPECT_FALSE(store_->list_all(*ObjectFolder::parse("runs/r/models")))
        << "the folder itself is a link";
    EXPECT_THAT(store_->leftovers(run_folder).value(), IsEmpty());
}

TEST_P(Folder, ADeepTreeEndsTheWalkNotTheProgram)
{
    auto deep = folder_ / "runs/r";
    for (int level = 0; level < 200; ++level) deep /= "d";
    fs::create_directories(deep);
    std::ofstream(deep / "x") << "x";
    write("runs/r/run.json");
    EXPECT_THAT(names_in(*store_), ElementsAre("runs/r/run.json"));
}

TEST_P(Folder, TemporaryFilesAreLeftoversNotObjects)
{
    auto const file = "runs/r/commits/" + temporary_name("00000001.json");
    auto const made = "runs/r/" + temporary_name("models");
    write(file);
    fs::create_directory(folder_ / made);
    write("runs/r/commits/.hidden");
    write("runs/r/commits/x.tmp");
    write("runs/r/commits/..h.0123456789abcdef.1.x.tmp");
    EXPECT_THAT(names_in(*store_), ElementsAre("runs/r/commits/..h.0123456789abcdef.1.x.tmp",
                                               "runs/r/commits/.hidden", "runs/r/commits/x.tmp"));
    auto const found = store_->leftovers(run_folder).value();
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_THAT((std::vector{found[0].name, found[1].name}), UnorderedElementsAre(file, made));
    for (auto const& leftover : found) {
        EXPECT_LT(SystemClock{}.now() - leftover.modified, Seconds{60});
        EXPECT_TRUE(store_->remove_leftover(leftover));
        EXPECT_TRUE(store_->remove_leftover(leftover)) << "a second time";
        EXPECT_FALSE(fs::exists(folder_ / leftover.name));
    }
}

TEST_P(Folder, OnlyTemporaryFilesCanBeRemovedAsLeftovers)
{
    ASSERT_EQ(*store_->create(record, bytes_of("x")), CreateOutcome::created);
    auto const temporary = temporary_name("x");
    std::ofstream(folder_ / temporary) << "x";
    for (std::string const& name :
         {record.text(), std::string("run.json"), std::string("runs/r/commits/x.tmp"),
          "runs/../" + temporary, temporary, "/" + temporary, std::string()})
        EXPECT_FALSE(store_->remove_leftover({name, "", {}})) << name;
    EXPECT_TRUE(fs::exists(folder_ / temporary));
    EXPECT_TRUE(store_->get(record, {10}).value());
    // A folder that is not empty stays.
    auto const full = "runs/r/" + temporary_name("models");
    fs::create_directory(folder_ / full);
    write(full + "/x");
    EXPECT_FALSE(store_->remove_leftover({full, "", {}}));
}

TEST_P(Folder, AFolderThatMayNotBeReadIsAPermissionError)
{
    fs::create_directories(folder_ / "runs/r/models");
    chmod(folder_.path().c_str(), 0755);
    chmod((folder_ / "runs/r/models").c_str(), 0);
    pid_t const child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(255);
        auto const store = *PosixStore::open(folder_.path(), IfMissing::refuse, GetParam());
        auto const listing = store->list_all(run_folder);
        _exit(listing ? 0 : static_cast<int>(listing.error().code));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::permission));
    chmod((folder_ / "runs/r/models").c_str(), 0755);
}

TEST_P(Folder, AStoreThatIsGoneIsNotEmpty)
{
    fs::remove_all(folder_.path());
    EXPECT_EQ(store_->list_all(run_folder).error().code, ExitCode::unavailable);
    EXPECT_EQ(store_->leftovers(run_folder).error().code, ExitCode::unavailable);
}

INSTANTIATE_TEST_SUITE_P(Both, Folder, testing::Values(Lookup::kernel, Lookup::stepwise));

TEST(FaultyListing, LeavesObjectsOut)
{
    MemoryStore inner;
    ASSERT_TRUE(inner.put(record, bytes_of("x")));
    FaultyStore faulty(inner, {.unlisted = 1}, 1);
    EXPECT_THAT(names_in(faulty), IsEmpty());
    faulty.set_faults({.unavailable = 1});
    EXPECT_EQ(faulty.list_all(run_folder).error().code, ExitCode::temporary);
    EXPECT_EQ(faulty.leftovers(run_folder).error().code, ExitCode::temporary);
    EXPECT_EQ(faulty.keeps_versions().error().code, ExitCode::temporary);
}

// A real S3 server.
class Bucket : public testing::Test {
  protected:
    static void SetUpTestSuite()
    {
        rgw = std::make_unique<test::Rgw>();
        listings = rgw->make_bucket("listings");
    }
    static void TearDownTestSuite() { rgw.reset(); }
    [[nodiscard]] static s3::Bucket bucket(std::string const& prefix)
    {
        auto location =
            s3::complete({.bucket = listings, .prefix = prefix, .endpoint = rgw->endpoint()});
        return s3::Bucket(std::make_shared<s3::Session>(
            location.value(),
            std::make_shared<s3::CredentialSource>(
                s3::CredentialOptions{.file = rgw->credentials()}, s3::Environment{}),
            http::ConnectionSettings{}, std::make_shared<SystemClock>()));
    }
    static std::unique_ptr<test::Rgw> rgw;
    static inline std::string listings;
};
std::unique_ptr<test::Rgw> Bucket::rgw;

TEST_F(Bucket, HostileKeysAreListedAsTheyAre)
{
    auto objects = bucket("hostile");
    std::vector<std::string> names{"runs/r/a b",      "runs/r/<&>\"'",  "runs/r/\xc3\xa9",
                                   "runs/r/x/../y",   "runs/r/a+b%2Fc", "runs/r/commits/x.json",
                                   "runs/r//two",     "runs/r/.",       "runs/r/a\nb",
                                   "runs/r/\x1b[31m", "runs/r/-rf"};
    std::vector<std::string> stored;
    for (auto const& name : names)
        if (objects.put(name, std::string_view("x"))) stored.push_back(name);
    EXPECT_GE(stored.size(), 8U);
    std::sort(stored.begin(), stored.end());
    S3Store store(objects);
    EXPECT_EQ(names_in(store), stored);
}

TEST_F(Bucket, UploadsThatHaveNotEndedAreLeftovers)
{
    auto objects = bucket("uploads");
    auto& session = objects.session();
    for (auto const* key : {"runs/r/models/1/A.0123abcd.1-1/w0.h5", "runs/r/\n"})
        ASSERT_TRUE(session.send(
            {.method = http::Method::post, .key = key, .query = {{"uploads", ""}}, .what = "begin"},
            {}));
    ASSERT_TRUE(session.send({.method = http::Method::post,
                              .key = "runs/other/x",
                              .query = {{"uploads", ""}},
                              .what = "begin"},
                             {}));
    S3Store store(objects);
    auto const found = store.leftovers(run_folder);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_THAT(*found, SizeIs(2));
    EXPECT_EQ(found->at(1).name, "runs/r/models/1/A.0123abcd.1-1/w0.h5");
    EXPECT_LT(SystemClock{}.now() - found->at(1).modified, Seconds{60});
    EXPECT_THAT(names_in(store), IsEmpty());
    for (auto const& leftover : *found) {
        EXPECT_TRUE(store.remove_leftover(leftover));
        EXPECT_TRUE(store.remove_leftover(leftover)) << "a second time";
    }
    EXPECT_THAT(store.leftovers(run_folder).value(), IsEmpty());
    EXPECT_THAT(store.leftovers(*ObjectFolder::parse("runs")).value(), SizeIs(1));
}

TEST_F(Bucket, OneWithVersioningKeepsVersions)
{
    auto const versions = rgw->make_bucket("versions");
    auto location = s3::complete({.bucket = versions, .endpoint = rgw->endpoint()});
    s3::Bucket objects(std::make_shared<s3::Session>(
        location.value(),
        std::make_shared<s3::CredentialSource>(s3::CredentialOptions{.file = rgw->credentials()},
                                               s3::Environment{}),
        http::ConnectionSettings{}, std::make_shared<SystemClock>()));
    S3Store store(objects);
    EXPECT_EQ(store.keeps_versions().value(), false);
    constexpr std::string_view enable =
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    ASSERT_TRUE(objects.session().send({.method = http::Method::put,
                                        .key = {},
                                        .query = {{"versioning", ""}},
                                        .body = enable,
                                        .what = "enable"},
                                       {}));
    EXPECT_EQ(store.keeps_versions().value(), true);
}

}  // namespace
}  // namespace curtail::store
