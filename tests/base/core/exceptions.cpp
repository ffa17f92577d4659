// SPDX-License-Identifier: Apache-2.0
#include "base/core/exceptions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

namespace curtail {
namespace {

using testing::HasSubstr;

TEST(Exceptions, EachKindHasItsExitCode)
{
    EXPECT_EQ(error_of(std::bad_alloc()).code, ExitCode::os_error);
    EXPECT_THAT(error_of(std::bad_alloc()).message(), HasSubstr("no more memory; allow more"));
    std::system_error const no_thread(EAGAIN, std::generic_category());
    EXPECT_EQ(error_of(no_thread).code, ExitCode::os_error);
    EXPECT_THAT(error_of(no_thread).message(), HasSubstr("cannot start a thread: "));
    std::filesystem::filesystem_error const no_folder(
        "cannot get current path", std::error_code(ENOENT, std::generic_category()));
    EXPECT_EQ(error_of(no_folder).code, ExitCode::software) << "the current folder exists";
    EXPECT_EQ(error_of(std::logic_error("x")).code, ExitCode::software);
    EXPECT_THAT(error_of(std::logic_error("x")).message(), HasSubstr("internal error: x"));
}

TEST(Exceptions, AnExceptionOfAThreadReachesTheCaller)
{
    std::atomic<int> calls{0};
    auto const work = [&](std::size_t i) {
        ++calls;
        if (i > 0) throw std::runtime_error(std::to_string(i));
    };
    try {
        run_in_threads(3, work);
        ADD_FAILURE() << "no exception";
    } catch (std::runtime_error const& thrown) {
        EXPECT_STREQ(thrown.what(), "1");
    }
    EXPECT_EQ(calls, 3);
    run_in_threads(1, work);
}

}  // namespace
}  // namespace curtail
