// SPDX-License-Identifier: Apache-2.0
#include "base/core/clock_file.hpp"

#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

TimeScale const first{from_unix_ms(1'768'151'100'000), from_unix_ms(1'795'273'001'250), 300};

TEST(ClockFile, ExistingClockIsKept)
{
    test::TemporaryFolder const folder;
    EXPECT_FALSE(read_clock(folder.path()).value());
    EXPECT_EQ(make_clock(folder.path(), first).value(), first);
    auto later = first;
    later.real_origin += Seconds(5);
    EXPECT_EQ(make_clock(folder.path(), later).value(), first);
    EXPECT_EQ(read_clock(folder.path()).value(), first);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
        << "no temporary file is left";
}

TEST(ClockFile, DamagedClockIsAnError)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(
        folder / "clock.json",
        "{\"origin\":\"2026-01-11T17:05Z\",\"real_origin\":\"2026-01-11T17:05Z\",\"factor\":0}"));
    auto const damaged = read_clock(folder.path());
    ASSERT_FALSE(damaged);
    EXPECT_NE(damaged.error().remedy.find("docs/formats-run.md"), std::string::npos);
    ASSERT_TRUE(write_file(
        folder / "clock.json",
        "{\"origin\":\"2026-01-11 17:05\",\"real_origin\":\"2026-01-11T17:05Z\",\"factor\":2}"));
    EXPECT_FALSE(read_clock(folder.path())) << "a time without a zone";
}

}  // namespace
}  // namespace curtail
