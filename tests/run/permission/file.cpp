// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "base/core/files.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/permission.hpp"
#include "support/own_mounts.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::permission {
namespace {

RunId const run{"demo"};
SiteId const site{"SPP_TX"};
Time const noon = from_unix_ms(1'768'132'800'250);
Permission const permission{run, site, 7, noon, Millis{1'500}, noon + Millis{1'500}, "window open"};

TEST(PermissionFile, ReadsWhatWasWritten)
{
    test::TemporaryFolder const folder;
    auto const site_folder = folder / "sites/SPP_TX";
    ASSERT_TRUE(write_permission(site_folder, permission));
    auto const read = read_permission(site_folder, run, site);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, permission);
}

TEST(PermissionFile, IsEmptyIfNoPollerHasServedTheSite)
{
    test::TemporaryFolder const folder;
    auto const read = read_permission(folder.path(), run, site);
    ASSERT_TRUE(read);
    EXPECT_FALSE(*read);
}

TEST(PermissionFile, OfAnotherSiteIsUnusable)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_permission(folder.path(), permission));
    auto const read = read_permission(folder.path(), run, {"NEM_SA"});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ExitCode::temporary);
    EXPECT_NE(read.error().message().find("site 'SPP_TX' of run 'demo'"), std::string::npos);
}

TEST(PermissionFile, ThatIsDamagedIsUnusable)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_permission(folder.path(), permission));
    auto const whole = *read_file(permission_file(folder.path()));
    for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
        ASSERT_TRUE(write_file(permission_file(folder.path()), whole.substr(0, length)));
        auto const read = read_permission(folder.path(), run, site);
        ASSERT_FALSE(read) << length;
        EXPECT_EQ(read.error().code, ExitCode::temporary) << length;
    }
}

TEST(PermissionFile, WithASerialThatIsNoneIsUnusable)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_permission(folder.path(), permission));
    auto const whole = *read_file(permission_file(folder.path()));
    auto const at = whole.find("\"serial\":7");
    for (auto const* serial :
         {"-7", "7.5", "7.0", "\"7\"", "null", "1e30", "99999999999999999999"}) {
        auto text = whole;
        text.replace(at + 9, 1, serial);
        ASSERT_TRUE(write_file(permission_file(folder.path()), text));
        EXPECT_FALSE(read_permission(folder.path(), run, site)) << serial;
    }
}

// A disk of 128 KiB without a free byte, on which a permission and then a hold have been written.
class FullDisk : public testing::Test {
  protected:
    void SetUp() override
    {
        if (!test::can_mount()) GTEST_SKIP() << "only root can mount a small disk";
    }
    // Calls `check` in a child that has the disk, and returns its result.
    bool with_full_disk(std::function<bool()> const& check)
    {
        return test::in_own_mounts([&] {
            if (mount("none", folder_.path().c_str(), "tmpfs", 0, "size=128k") != 0) return false;
            bool const is_served = write_permission(folder_.path(), permission).has_value();
            while (append_line(folder_ / "rest", std::string(4095, 'x'), false)) continue;
            return is_served && !write_file(folder_ / "more", "x") && check();
        });
    }
    bool withdraw(std::int64_t serial)
    {
        Permission const next{run, site, serial, noon, Millis{0}, noon, std::string(300, 'y')};
        auto const written = write_permission(folder_.path(), next);
        auto const read = read_permission(folder_.path(), run, site);
        return written && read && *read && **read == next;
    }
    bool decide(std::int64_t serial, bool held)
    {
        Hold const hold{run, site, serial, held, held ? "maintenance" : "", noon, "anna@login1"};
        auto const written = write_hold(folder_.path(), hold);
        auto const read = read_hold(folder_.path(), run, site);
        return written && read && *read && **read == hold;
    }
    test::TemporaryFolder folder_;
};

TEST_F(FullDisk, APermissionEndsAndASiteIsPausedForTheFirstTime)
{
    EXPECT_TRUE(with_full_disk([&] { return withdraw(8) && decide(1, true); }));
}

TEST_F(FullDisk, EachLaterDecisionCountsToo)
{
    EXPECT_TRUE(with_full_disk([&] {
        for (int i = 0; i < 5; ++i)
            if (!withdraw(8 + i) || !decide(1 + i, i % 2 == 0)) return false;
        return true;
    }));
}

TEST_F(FullDisk, WithoutReservedSpaceTheFileIsOverwritten)
{
    EXPECT_TRUE(with_full_disk([&] {
        for (auto const* name : {".permission.json.reserve", ".hold.json.reserve"}) {
            std::filesystem::remove(folder_ / name);
            while (append_line(folder_ / "rest", std::string(4095, 'x'), false)) continue;
        }
        return !write_file(folder_ / "more", "x") && withdraw(8) && withdraw(9);
    }));
}

TEST_F(FullDisk, APermissionIsNotRenewed)
{
    auto renewed = permission;
    renewed.serial = 8;
    EXPECT_TRUE(with_full_disk([&] {
        return !write_permission(folder_.path(), renewed) &&
               **read_permission(folder_.path(), run, site) == permission;
    }));
}

TEST(PermissionFile, WithASerialThatLeavesNoRoomForTheNextIsUnusable)
{
    test::TemporaryFolder const folder;
    Permission stored{{"demo"}, {"A"}, largest_serial, {}, Millis{1}, {}, "open"};
    ASSERT_TRUE(write_permission(folder.path(), stored));
    EXPECT_TRUE(read_permission(folder.path(), {"demo"}, {"A"}));
    ++stored.serial;
    ASSERT_TRUE(write_permission(folder.path(), stored));
    EXPECT_FALSE(read_permission(folder.path(), {"demo"}, {"A"}));
}

TEST(HoldFile, ReadsWhatWasWritten)
{
    test::TemporaryFolder const folder;
    Hold const hold{run, site, 3, true, "maintenance", noon, "anna@login1"};
    ASSERT_TRUE(write_hold(folder.path(), hold));
    auto const read = read_hold(folder.path(), run, site);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, hold);
}

TEST(HoldFile, WithASerialThatLeavesNoRoomForTheNextIsAnError)
{
    test::TemporaryFolder const folder;
    Hold const hold{run, site, largest_serial + 1, true, "maintenance", noon, "anna@login1"};
    ASSERT_TRUE(write_hold(folder.path(), hold));
    EXPECT_FALSE(read_hold(folder.path(), run, site));
}

TEST(HoldFile, AFolderInItsPlaceIsAnErrorThatSaysWhatToDo)
{
    test::TemporaryFolder const folder;
    for (auto const* name : {"hold.json", "permission.json"})
        std::filesystem::create_directories(folder / name);
    auto const has = [](Error const& error) {
        return error.remedy.find("remove the folder") != std::string::npos;
    };
    EXPECT_TRUE(has(read_hold(folder.path(), run, site).error()));
    EXPECT_TRUE(has(write_hold(folder.path(), {run, site, 1, true, "x", noon, "anna"}).error()));
    EXPECT_TRUE(has(read_permission(folder.path(), run, site).error()));
    EXPECT_TRUE(has(write_permission(folder.path(), permission).error()));
}

TEST(HoldFile, ThatIsDamagedIsAnError)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(hold_file(folder.path()), "{\"format\":1,"));
    auto const read = read_hold(folder.path(), run, site);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ExitCode::data);
}

}  // namespace
}  // namespace curtail::permission
