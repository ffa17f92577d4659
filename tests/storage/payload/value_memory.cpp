// SPDX-License-Identifier: Apache-2.0
#include "storage/payload/value_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace curtail::payload {
namespace {

constexpr std::size_t size = 1'000'000;

std::vector<float> sevens(ValueMemory const& memory)
{
    auto values = memory.take(size);
    values.assign(size, 7);
    return values;
}

TEST(ValueMemory, GivesTheMemoryOfSharedValuesAgain)
{
    ValueMemory const memory(1);
    auto shared = memory.share(sevens(memory));
    auto const* const place = shared->data();
    auto const other = memory.take(size);
    EXPECT_NE(other.data(), place) << "somebody still refers to the values";
    shared.reset();
    EXPECT_EQ(memory.take(size).data(), place);
}

TEST(ValueMemory, UsedAgainHasTheNewValues)
{
    ValueMemory const memory(1);
    memory.share(sevens(memory)).reset();
    auto const shared = memory.share(sevens(memory));
    EXPECT_TRUE(std::ranges::all_of(*shared, [](float value) { return value == 7; }));
}

TEST(ValueMemory, HasRoomForMoreValuesThanBefore)
{
    ValueMemory const memory(1);
    memory.share(sevens(memory)).reset();
    EXPECT_GE(memory.take(2 * size).capacity(), 2 * size);
}

TEST(ValueMemory, KeepsNoMoreThanItsLimit)
{
    ValueMemory const memory(1);
    auto first = memory.share(sevens(memory));
    auto second = memory.share(sevens(memory));
    auto const* const kept = first->data();
    first.reset();
    second.reset();
    EXPECT_EQ(memory.take(size).data(), kept);
}

// A merge without an outer step shares an empty momentum.
TEST(ValueMemory, DoesNotKeepAVectorWithoutMemory)
{
    ValueMemory const memory(1);
    memory.share({}).reset();
    auto shared = memory.share(sevens(memory));
    auto const* const place = shared->data();
    shared.reset();
    EXPECT_EQ(memory.take(size).data(), place);
}

TEST(ValueMemory, SharedValuesOutliveIt)
{
    Values shared;
    {
        ValueMemory const memory(2);
        shared = memory.share(sevens(memory));
    }
    EXPECT_EQ(shared->back(), 7);
}

TEST(ValueMemory, IsSafeInThreads)
{
    ValueMemory const memory(2);
    auto const use = [&memory] {
        for (int i = 0; i < 50; ++i) {
            auto values = memory.take(1'000);
            values.assign(1'000, static_cast<float>(i));
            auto const shared = memory.share(std::move(values));
            ASSERT_EQ((*shared)[999], static_cast<float>(i));
        }
    };
    std::jthread const one(use), two(use), three(use);
}

}  // namespace
}  // namespace curtail::payload
