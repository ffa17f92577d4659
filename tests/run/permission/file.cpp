// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/permission.hpp"
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
    EXPECT_NE(read.error().message().find("site SPP_TX of run demo"), std::string::npos);
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
