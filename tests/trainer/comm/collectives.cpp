// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/collectives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/comm/mpi_session.hpp"

namespace curtail::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Keeps this rank busy, like a long step.
void be_late_by(std::chrono::microseconds time)
{
    for (auto const begin = Clock::now(); Clock::now() - begin < time;) {}
}

double cpu_seconds()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<T> normal;
    std::vector<T> values(count);
    for (auto& v : values) v = normal(random);
    return values;
}

// True if `values` are bitwise equal on all ranks.
template <class T>
bool same_everywhere(Collectives& ranks, std::vector<T> const& values)
{
    auto first = values;
    ranks.broadcast(std::as_writable_bytes(std::span(first)), 0);
    return ranks.all_reduce_max(
               std::memcmp(first.data(), values.data(), values.size() * sizeof(T)) == 0 ? 0 : 1) ==
           0;
}

struct AllRanks : testing::Test {
    std::unique_ptr<Collectives> ranks{mpi_collectives()};
};

TEST_F(AllRanks, SumsIntegersExactly)
{
    int const n = ranks->size();
    for (std::size_t const count : {0UL, 1UL, 3UL, 1000UL, 900'001UL}) {
        std::vector<float> f(count);
        std::iota(f.begin(), f.end(), static_cast<float>(ranks->rank()));
        std::vector<double> d(f.begin(), f.end());
        ranks->all_reduce_sum(f);
        ranks->all_reduce_sum(d);
        for (std::size_t i = 0; i < count; ++i) {
            auto const expected = static_cast<double>(i) * n + n * (n - 1) / 2.0;
            ASSERT_EQ(d[i], expected);
            ASSERT_EQ(f[i], static_cast<float>(expected));
        }
    }
}

TEST_F(AllRanks, SumsHaveTheSameBitsOnEveryRankWhateverRankIsLate)
{
    std::mt19937 random(static_cast<unsigned>(ranks->rank()));
    for (std::size_t const count : {17UL, 5'000UL, 900'000UL}) {
        auto const mine = numbers<float>(count, 100U + static_cast<unsigned>(ranks->rank()));
        std::vector<float> first;
        for (int repeat = 0; repeat < 6; ++repeat) {
            auto values = mine;
            be_late_by(std::chrono::microseconds(random() % 3000));
            ranks->all_reduce_sum(values);
            EXPECT_TRUE(same_everywhere(*ranks, values));
            if (repeat == 0) first = values;
            EXPECT_EQ(std::memcmp(first.data(), values.data(), count * sizeof(float)), 0)
                << count << " numbers, repeat " << repeat;
        }
    }
}

TEST_F(AllRanks, BroadcastCopiesTheRootsBytesToEveryRank)
{
    for (int root = 0; root < ranks->size(); ++root)
        for (std::size_t const size : {0UL, 1UL, 70'000UL, 3'600'000UL}) {
            std::vector<std::byte> bytes(
                size, static_cast<std::byte>(ranks->rank() == root ? 7 + root : 0));
            ranks->broadcast(bytes, root);
            for (auto b : bytes) ASSERT_EQ(b, static_cast<std::byte>(7 + root));
        }
}

TEST_F(AllRanks, BroadcastCopiesTheRootsNumbersToEveryRank)
{
    for (int root = 0; root < ranks->size(); ++root)
        for (std::size_t const count : {0UL, 1UL, 900'001UL}) {
            std::vector<float> values(count, ranks->rank() == root ? 0.1F : -1.F);
            ranks->broadcast(std::span<float>(values), root);
            EXPECT_EQ(values, std::vector<float>(count, 0.1F));
        }
}

TEST_F(AllRanks, WorkOnHostMemory)
{
    EXPECT_EQ(ranks->memory(), Memory::host);
    EXPECT_EQ(single_process()->memory(), Memory::host);
}

// More than one slice of the implementation, and sizes that no slice divides.
TEST_F(AllRanks, ScatterSumsAndGatherChunks)
{
    auto const n = static_cast<std::size_t>(ranks->size());
    auto const mine = static_cast<std::size_t>(ranks->rank());
    for (std::size_t const count : {0UL, 1UL, 1000UL, 9'000'001UL / n}) {
        std::vector<float> all(n * count);
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<float>((i % 1000) * (mine + 1));
        std::vector<float> own(count, -1);
        ranks->reduce_scatter_sum(all, own);
        auto const sum_of_ranks = n * (n + 1) / 2;
        auto const shares = static_cast<float>(sum_of_ranks);
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(own[i], static_cast<float>((mine * count + i) % 1000) * shares);
        std::vector<float> gathered(n * count, -1);
        ranks->all_gather(own, gathered);
        for (std::size_t i = 0; i < gathered.size(); ++i)
            ASSERT_EQ(gathered[i], static_cast<float>(i % 1000) * shares);
        EXPECT_TRUE(same_everywhere(*ranks, gathered));
    }
}

TEST_F(AllRanks, ScatteredSumsHaveTheSameBitsInEveryRepeat)
{
    constexpr std::size_t count = 50'000;
    auto const all = numbers<float>(count * static_cast<std::size_t>(ranks->size()),
                                    100U + static_cast<unsigned>(ranks->rank()));
    std::mt19937 random(static_cast<unsigned>(ranks->rank()));
    std::vector<float> first;
    for (int repeat = 0; repeat < 4; ++repeat) {
        std::vector<float> own(count);
        be_late_by(std::chrono::microseconds(random() % 3000));
        ranks->reduce_scatter_sum(all, own);
        if (repeat == 0) first = own;
        EXPECT_TRUE(
            std::ranges::equal(std::as_bytes(std::span(first)), std::as_bytes(std::span(own))))
            << repeat;
    }
}

TEST_F(AllRanks, ChunksOfAnotherSizeThrow)
{
    std::vector<float> own(3);
    std::vector<float> all(3 * static_cast<std::size_t>(ranks->size()) + 1);
    EXPECT_THROW(ranks->reduce_scatter_sum(all, own), std::logic_error);
    EXPECT_THROW(ranks->all_gather(own, all), std::logic_error);
}

TEST_F(AllRanks, BroadcastsTextsOfAnyLength)
{
    for (auto const& text : {std::string(), std::string("stop"), std::string(100'000, 'x')})
        EXPECT_EQ(broadcast_text(*ranks, ranks->rank() == 0 ? text : "ignored", 0), text);
    EXPECT_THROW((void)broadcast_text(*ranks, "12345", 0, 4), CommError);
}

TEST_F(AllRanks, FindTheGreatestValue)
{
    EXPECT_EQ(ranks->all_reduce_max(ranks->rank() == ranks->size() - 1 ? 5 : -3), 5);
    EXPECT_EQ(ranks->all_reduce_max(-7), -7);
}

TEST_F(AllRanks, NoRankPassesABarrierBeforeTheLastArrives)
{
    auto const mine = [] {
        return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    };
    double arrival = 0;
    if (ranks->rank() == 0) {
        be_late_by(std::chrono::milliseconds(20));
        arrival = mine();
    }
    ranks->barrier();
    double const passed = mine();
    ranks->broadcast(std::as_writable_bytes(std::span(&arrival, 1)), 0);
    EXPECT_GE(passed, arrival);  // steady clocks of one machine
}

TEST_F(AllRanks, WaitingForALateRankUsesLittleProcessorTime)
{
    ranks->barrier();
    double const cpu = cpu_seconds();
    if (ranks->rank() == 0) be_late_by(std::chrono::milliseconds(300));
    std::vector<float> values(1000, 1);
    ranks->all_reduce_sum(values);
    double const used = cpu_seconds() - cpu;
    EXPECT_LT(ranks->rank() == 0 ? 0 : used, 0.1)
        << "seconds of processor time while waiting 0.3 s";
}

TEST_F(AllRanks, AnInvalidRootThrows)
{
    std::byte b{};
    EXPECT_THROW(ranks->broadcast({&b, 1}, ranks->size()), std::logic_error);
    EXPECT_THROW(ranks->broadcast({&b, 1}, -1), std::logic_error);
    EXPECT_THROW(single_process()->broadcast({&b, 1}, 1), std::logic_error);
}

TEST(Single, IsTheOnlyRank)
{
    auto const alone = single_process();
    std::vector<float> f{1, 2};
    alone->all_reduce_sum(f);
    EXPECT_THAT(f, testing::ElementsAre(1, 2));
    EXPECT_EQ(alone->all_reduce_max(3), 3);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(broadcast_text(*alone, "x", 0), "x");
}

TEST(Launcher, IsDetected) { EXPECT_TRUE(started_by_launcher()); }

}  // namespace
}  // namespace curtail::comm
