// SPDX-License-Identifier: Apache-2.0
#include "base/process/identity.hpp"

#include <gtest/gtest.h>

#include "support/own_mounts.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::process {
namespace {

ProcessIdentity own() { return {getpid(), read_process_stat(getpid()).value().started, boot_id()}; }

TEST(ProcessIdentity, IsThatOfOneProcess)
{
    EXPECT_TRUE(is_running(own()));
    auto reused = own();
    --reused.started;
    EXPECT_FALSE(is_running(reused));
    auto rebooted = own();
    rebooted.boot = "another";
    EXPECT_FALSE(is_running(rebooted));
    for (pid_t const none : {0, -1, (1 << 22) + 1})
        EXPECT_FALSE(is_running({none, 0, boot_id()})) << none;
}

TEST(ProcessIdentity, AProcessThatProcHidesIsRunning)
{
    if (!test::can_mount()) GTEST_SKIP() << "only root can hide a process";
    test::TemporaryFolder const empty;
    ProcessIdentity const other{getpid(), 1, boot_id()};
    EXPECT_FALSE(is_running(other));
    auto const hidden = "/proc/" + std::to_string(getpid());
    EXPECT_TRUE(test::in_own_mounts([&] {
        return mount(empty.path().c_str(), hidden.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
               is_running(other);
    }));
}

}  // namespace
}  // namespace curtail::process
