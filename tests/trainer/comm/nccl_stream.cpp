// SPDX-License-Identifier: Apache-2.0
// How long NcclStream waits, with a double of CUDA.
#include "trainer/comm/nccl_stream.hpp"

#include <gtest/gtest.h>

#include "trainer/comm/collectives.hpp"
#include "trainer/comm/nccl_double.hpp"

namespace curtail::comm {
namespace {

using test::NcclDouble;

MonoTime at(std::int64_t ms) { return MonoTime{Millis{ms}}; }

// The GPU works for longer than the patience, but not on one operation.
TEST(NcclStream, CountsFromTheLastOperationThatBecameDone)
{
    NcclDouble gpu;
    Patience const limit{Millis{900}, {}};
    NcclStream stream(gpu.api(), gpu.compute(), limit);
    auto const enqueue = [&](std::int64_t ms) {
        gpu.hold();
        stream.follow_compute();
        stream.watch("sum", at(ms));
    };
    enqueue(0);
    EXPECT_FALSE(stream.idle(at(800)));
    gpu.release();
    EXPECT_TRUE(stream.idle(at(850)));
    enqueue(850);
    EXPECT_FALSE(stream.idle(at(1700)));
    EXPECT_THROW((void)stream.idle(at(1750)), CommTimeout);
}

// The next operation of several, too.
TEST(NcclStream, BeginsAgainWithEachOperationThatBecameDone)
{
    NcclDouble gpu;
    Patience const limit{Millis{900}, {}};
    NcclStream stream(gpu.api(), gpu.compute(), limit);
    stream.follow_compute();
    stream.watch("first", at(0));
    gpu.progress();
    gpu.hold();
    stream.follow_compute();
    stream.watch("second", at(0));
    EXPECT_FALSE(stream.idle(at(800)));
    EXPECT_FALSE(stream.idle(at(1600)));
    EXPECT_THROW((void)stream.idle(at(1700)), CommTimeout);
}

// It may have been suspended.
TEST(NcclStream, CountsAtMostASecondInWhichTheHostDoesNotCall)
{
    NcclDouble gpu;
    Patience const limit{Millis{2500}, {}};
    NcclStream stream(gpu.api(), gpu.compute(), limit);
    gpu.hold();
    stream.follow_compute();
    stream.watch("sum", at(0));
    EXPECT_FALSE(stream.idle(at(60'000)));
    EXPECT_FALSE(stream.idle(at(120'000)));
    EXPECT_THROW((void)stream.idle(at(120'500)), CommTimeout);
}

}  // namespace
}  // namespace curtail::comm
