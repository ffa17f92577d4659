// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/own_mounts.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

// On a full disk, a file that cannot be replaced stays as it was. A line that does not fit is lost.
TEST(FullDisk, LosesAppendedLinesAndSaysSo)
{
    if (!test::can_mount()) GTEST_SKIP() << "only root can mount a small disk";
    test::TemporaryFolder const folder;
    EXPECT_TRUE(test::in_own_mounts([&] {
        if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=4k") != 0) return false;
        auto const replaced = write_file(folder / "file", std::string(9000, 'x'));
        auto const appended = append_line(folder / "log", std::string(9000, 'x'), false);
        return !replaced && replaced.error().remedy.ends_with("no data was lost") && !appended &&
               appended.error().remedy == "free disk space, or remove files";
    }));
}

}  // namespace
}  // namespace curtail
