// SPDX-License-Identifier: Apache-2.0
// The examination of stores, fit and unfit.
#include "operate/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "storage/s3/bucket.hpp"
#include "storage/store/posix_root.hpp"
#include "support/each_store.hpp"
#include "support/faulty_store.hpp"
#include "support/forwarding_store.hpp"

namespace curtail::operate {
namespace {

using testing::ElementsAre;
using upkeep::Finding;

DoctorOptions const quick{.size = {3'000'000}, .names = 5, .writers = 4};

// The checks with a finding of this level.
std::vector<std::string> checks(upkeep::Measurements const& measured, Finding::Level level)
{
    std::vector<std::string> names;
    for (auto const& finding : upkeep::findings_of(measured))
        if (finding.level == level) names.push_back(finding.check);
    return names;
}
std::vector<std::string> faults(store::ObjectStore& store)
{
    return checks(doctor(store, {"mine"}, quick), Finding::Level::fault);
}
std::vector<std::string> warnings(store::ObjectStore& store)
{
    return checks(doctor(store, {"mine"}, quick), Finding::Level::warning);
}

class DoctorOf : public curtail::test::EachStore {};

TEST_P(DoctorOf, AFitStoreHasNoFaultAndKeepsNoObject)
{
    auto const store = new_store();
    auto const measured = doctor(*store, {"mine"}, quick);
    for (auto const& finding : upkeep::findings_of(measured))
        EXPECT_EQ(finding.level, Finding::Level::good) << finding.check << ": " << finding.text;
    EXPECT_EQ(upkeep::findings_of(measured).size(), 9U);
    EXPECT_TRUE(store->list_all(*store::ObjectFolder::parse("runs")).value().empty());
}
INSTANTIATE_TEST_SUITE_P(Each, DoctorOf, curtail::test::every_store, curtail::test::name_of_store);

using curtail::test::ForwardingStore;

// Looks whether the object exists and creates it afterwards, as some servers do.
class Racy final : public ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        if (stat(name, call).value()) return store::CreateOutcome::exists;
        usleep(1000);
        return put(name, bytes, call).map([] { return store::CreateOutcome::created; });
    }
};

class Versioned final : public ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<bool> keeps_versions(CallLimits const&) override { return true; }
};

TEST(Examine, AStoreWhoseCreatesAreNotExclusiveIsAtFault)
{
    store::MemoryStore memory;
    store::FaultyStore last_wins(memory, {.ignored_condition = 1}, 1);
    EXPECT_THAT(faults(last_wins), testing::Contains("create"));
    Racy racy(memory);
    EXPECT_THAT(faults(racy), ElementsAre("concurrent-create"));
    Versioned versioned(memory);
    EXPECT_THAT(faults(versioned), ElementsAre("versioning"));
    EXPECT_TRUE(memory.names().empty());
}

TEST(Examine, DamageInATransferIsAFault)
{
    // Large objects only: the small ones must pass.
    class Damaging final : public ForwardingStore {
      public:
        using ForwardingStore::ForwardingStore;
        Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                          CallLimits const& call) override
        {
            return ForwardingStore::read(
                name, limit,
                [&](std::span<std::byte const> piece, Bytes whole) {
                    if (whole.value > 1000) piece = piece.subspan(1);
                    sink(piece, whole);
                },
                call);
        }
    };
    store::MemoryStore memory;
    Damaging damaging(memory);
    EXPECT_THAT(faults(damaging), ElementsAre("transfer"));
}

TEST(Examine, ListingsThatLackObjectsAreAWarning)
{
    store::MemoryStore memory;
    store::FaultyStore faulty(memory, {.unlisted = 1}, 1);
    EXPECT_THAT(warnings(faulty), ElementsAre("listing"));
    EXPECT_THAT(faults(faulty), ElementsAre());
}

TEST(Examine, AClockThatIsAheadIsAWarning)
{
    struct Fast final : Clock {
        [[nodiscard]] Time now() const override
        {
            return SystemClock{}.now() + std::chrono::minutes(5);
        }
    } const fast;
    store::MemoryStore memory(&fast);
    auto const measured = doctor(memory, {"mine"}, quick);
    EXPECT_THAT(checks(measured, Finding::Level::warning), ElementsAre("clock"));
    EXPECT_NEAR(FractionalSeconds(measured.clock->value().ahead).count(), 300, 2);
}

TEST(Examine, AStoreThatDoesNotAnswerHasOneFault)
{
    store::MemoryStore memory;
    store::FaultyStore faulty(memory, {.unavailable = 1}, 1);
    EXPECT_THAT(faults(faulty), ElementsAre("create"));
    EXPECT_EQ(upkeep::findings_of(doctor(faulty, {"mine"}, quick)).size(), 1U);
}

TEST(Examine, OldTemporaryFilesAreAWarning)
{
    curtail::test::TemporaryFolder const folder;
    auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
    std::filesystem::create_directories(folder / "runs/other/commits");
    auto const file = folder / "runs/other/commits" / store::temporary_name("00000001.json");
    std::ofstream(file) << "x";
    EXPECT_THAT(warnings(*store), ElementsAre());
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
    EXPECT_THAT(warnings(*store), ElementsAre("unfinished-writes"));
    EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(Examine, AFolderThatMayNotBeWrittenIsAPermissionFault)
{
    curtail::test::TemporaryFolder const folder;
    chmod(folder.path().c_str(), 0555);
    pid_t const child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(255);
        auto const store = store::open_store(store::Address::of_folder(folder.path())).value();
        auto const findings = upkeep::findings_of(doctor(*store, {"mine"}, quick));
        auto const* const fault = upkeep::first_fault(findings);
        _exit(fault == nullptr ? 0 : static_cast<int>(fault->code));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::permission));
    chmod(folder.path().c_str(), 0755);
}

TEST(Examine, ABucketWithVersioningIsAtFault)
{
    curtail::test::Rgw rgw;
    auto const versions = rgw.make_bucket("versions");
    store::Address address{
        .url = "s3://" + versions + "/x",
        .access = {.endpoint = rgw.endpoint(), .credentials = {.file = rgw.credentials()}}};
    s3::Bucket bucket(std::make_shared<s3::Session>(
        s3::complete({.bucket = versions, .endpoint = rgw.endpoint()}).value(),
        std::make_shared<s3::CredentialSource>(s3::CredentialOptions{.file = rgw.credentials()},
                                               s3::Environment{}),
        http::ConnectionSettings{}, std::make_shared<SystemClock>()));
    constexpr std::string_view enable =
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    ASSERT_TRUE(bucket.session().send({.method = http::Method::put,
                                       .key = {},
                                       .query = {{"versioning", ""}},
                                       .body = enable,
                                       .what = "enable"},
                                      {}));
    // The gateway then ignores If-None-Match.
    EXPECT_THAT(faults(*store::open_store(address).value()),
                ElementsAre("create", "concurrent-create", "versioning"));
    address.url = "s3://no-such-bucket/x";
    EXPECT_THAT(faults(*store::open_store(address).value()), ElementsAre("create"));
    auto const stranger = rgw.add_user("stranger");
    address.url = "s3://" + versions + "/x";
    address.access.credentials.file = rgw.credentials(stranger);
    auto const findings =
        upkeep::findings_of(doctor(*store::open_store(address).value(), {"mine"}, quick));
    EXPECT_EQ(upkeep::first_fault(findings)->code, ExitCode::permission);
}

}  // namespace
}  // namespace curtail::operate
