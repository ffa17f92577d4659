// SPDX-License-Identifier: Apache-2.0
// The threads of a transfer: some cannot start, and some end by an exception.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <thread>

#include "storage/s3/failing_server.hpp"
#include "storage/s3/parts.hpp"
#include "support/eventually.hpp"

namespace {
std::atomic<int> starts_left{std::numeric_limits<int>::max()};
}

// Replaces the C library's function in this executable, as if the user had too many threads.
extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* attributes,
                              void* (*body)(void*), void* argument)
{
    if (starts_left-- <= 0) return EAGAIN;
    static auto const original =
        reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return original(thread, attributes, body, argument);
}

namespace curtail::s3 {
namespace {

using testing::HasSubstr;

struct TooManyThreads {
    explicit TooManyThreads(int more) { starts_left = more; }
    ~TooManyThreads() { starts_left = std::numeric_limits<int>::max(); }
    TooManyThreads(TooManyThreads const&) = delete;
    TooManyThreads& operator=(TooManyThreads const&) = delete;
};

class Threads : public FailingServer {
  protected:
    Threads() { EXPECT_TRUE(b_.put("k", std::string_view(content_))); }

    std::string content_{bytes(6'500'000)};
    Bucket b_{bucket()};
};

TEST_F(Threads, AReadNeedsOnlyOneThread)
{
    TooManyThreads const limit(1);
    EXPECT_TRUE(*read(b_, "k") == content_);
}

TEST_F(Threads, AReadWithoutAnyThreadFails)
{
    TooManyThreads const limit(0);
    auto const failed = read(b_, "k");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::temporary);
    EXPECT_THAT(failed.error().message(), HasSubstr("cannot start a thread"));
}

TEST_F(Threads, PartsNeedNoThreadOfTheirOwn)
{
    TooManyThreads const limit(0);
    EXPECT_TRUE(b_.put("other", std::string_view(content_)));
}

TEST_F(Threads, NoPartsNeedNoThread)
{
    auto const never = [](std::size_t, CallLimits const&) -> Result<void> {
        throw std::logic_error("there is no part");
    };
    EXPECT_TRUE(for_each_part(b_.session(), 0, 3, {}, never));
}

TEST_F(Threads, AnExceptionOfTheSinkEndsARead)
{
    EXPECT_THROW(
        (void)b_.get("k", {100 * mib}, [](auto, Bytes) { throw std::runtime_error("no memory"); }),
        std::runtime_error);
}

TEST_F(Threads, AnExceptionInAPartReachesTheCaller)
{
    auto const caller = std::this_thread::get_id();
    std::atomic<bool> thrown{false};
    auto const work = [&](std::size_t, CallLimits const&) -> Result<void> {
        if (std::this_thread::get_id() != caller) {
            thrown = true;
            throw std::runtime_error("no memory");
        }
        EXPECT_TRUE(test::eventually([&] { return thrown.load(); }));
        return {};
    };
    EXPECT_THROW((void)for_each_part(b_.session(), 7, 3, {}, work), std::runtime_error);
}

}  // namespace
}  // namespace curtail::s3
