// SPDX-License-Identifier: Apache-2.0
#include "support/faulty_store.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "storage/store/verified.hpp"
#include "support/memory_store.hpp"

namespace curtail::store {
namespace {

ObjectName commit(int number)
{
    return *ObjectName::parse("runs/r/commits/" + std::to_string(10'000'000 + number) + ".json");
}

struct Faulty : testing::Test {
    MemoryStore inner;
    FaultyStore faulty{inner, {}, 1};
    bool exists(int number) { return inner.get(commit(number), {100}).value().has_value(); }
};

TEST_F(Faulty, ALostRequestIsNeverCarriedOutAndALostReplyWas)
{
    faulty.set_faults({.lost_request = 1});
    EXPECT_EQ(*faulty.create(commit(1), bytes_of("x")), CreateOutcome::unknown);
    EXPECT_FALSE(exists(1));
    faulty.set_faults({.lost_reply = 1});
    EXPECT_EQ(*faulty.create(commit(1), bytes_of("x")), CreateOutcome::unknown);
    EXPECT_TRUE(exists(1));
}

TEST_F(Faulty, ADelayedCreateLandsLaterAndNeverOverwrites)
{
    faulty.set_faults({.delayed_create = 1});
    EXPECT_EQ(*faulty.create(commit(1), bytes_of("late")), CreateOutcome::unknown);
    EXPECT_FALSE(exists(1));
    ASSERT_EQ(*inner.create(commit(1), bytes_of("fast")), CreateOutcome::created);
    faulty.land_delayed();
    EXPECT_EQ(text_of(*inner.get(commit(1), {100}).value()), "fast");

    EXPECT_EQ(*faulty.create(commit(2), bytes_of("late")), CreateOutcome::unknown);
    faulty.set_faults({});
    int requests = 0;
    for (; requests < 1000 && !exists(2); ++requests) (void)faulty.stat(commit(3));
    EXPECT_LT(requests, 1000) << "it never landed";
}

TEST_F(Faulty, StaleAnswersAndErrorsLeaveObjectsUnchanged)
{
    ASSERT_TRUE(inner.put(commit(1), bytes_of("x")));
    faulty.set_faults({.stale_missing = 1});
    EXPECT_EQ(*faulty.get(commit(1), {100}), std::nullopt);
    EXPECT_EQ(*faulty.stat(commit(1)), std::nullopt);
    faulty.set_faults({.unavailable = 1});
    EXPECT_EQ(faulty.get(commit(1), {100}).error().code, ExitCode::temporary);
    EXPECT_EQ(faulty.put(commit(1), bytes_of("y")).error().code, ExitCode::temporary);
    faulty.set_faults({.no_space = 1});
    EXPECT_EQ(faulty.put(commit(1), bytes_of("y")).error().code, ExitCode::io);
    EXPECT_EQ(text_of(*faulty.get(commit(1), {100}).value()), "x");
}

TEST_F(Faulty, ALiarReplacesAnExistingObjectAndSaysThatItCreatedIt)
{
    ASSERT_TRUE(inner.put(commit(1), bytes_of("first")));
    faulty.set_faults({.ignored_condition = 1});
    EXPECT_EQ(*faulty.create(commit(1), bytes_of("second")), CreateOutcome::created);
    EXPECT_EQ(text_of(*inner.get(commit(1), {100}).value()), "second");
}

TEST_F(Faulty, AWriteWhoseReplyIsLostHasHappened)
{
    faulty.set_faults({.lost_put_reply = 1});
    EXPECT_EQ(faulty.put(commit(1), bytes_of("x")).error().code, ExitCode::temporary);
    EXPECT_TRUE(exists(1));
}

TEST_F(Faulty, ARequestWithoutAnAnswerEndsWithItsCall)
{
    faulty.set_faults({.no_answer = 1});
    std::stop_source stop;
    std::optional<Result<CreateOutcome>> cancelled;
    {
        std::jthread const request(
            [&] { cancelled = faulty.create(commit(1), bytes_of("x"), {stop.get_token()}); });
        EXPECT_FALSE(cancelled);
        stop.request_stop();
    }
    EXPECT_EQ(cancelled.value().error().code, ExitCode::temporary);
    auto const end = monotonic_now() + Millis{20};
    EXPECT_FALSE(faulty.get(commit(1), {100}, {{}, end}));
    EXPECT_GE(monotonic_now(), end);
    EXPECT_FALSE(exists(1));
}

TEST_F(Faulty, ASlowStoreAnswersLateAndServesOthersMeanwhile)
{
    constexpr Millis delay{50};
    faulty.set_faults({.slow = 1, .delay = delay});
    auto const began = monotonic_now();
    std::vector<std::jthread> requests;
    requests.reserve(20);
    for (int i = 0; i < 20; ++i)
        requests.emplace_back([&, i] {
            EXPECT_EQ(*faulty.create(commit(i), bytes_of("x")), CreateOutcome::created);
        });
    requests.clear();
    EXPECT_GE(monotonic_now() - began, delay);
    EXPECT_LT(monotonic_now() - began, 20 * delay);
}

TEST_F(Faulty, AVerifiedReadRetriesBadReadsAndReportsPersistentOnes)
{
    Content const content(5000, std::byte{1});
    auto const read = [&] {
        return read_verified(faulty, commit(1), {5000}, sha256(content), Millis{0});
    };
    ASSERT_TRUE(inner.put(commit(1), content));
    for (auto const& always : {Faults{.short_read = 1}, Faults{.corrupt_read = 1}}) {
        faulty.set_faults(always);
        EXPECT_EQ(read().error().cause, ReadFailure::Cause::corrupt);
    }
    faulty.set_faults({.unavailable = 1});
    EXPECT_EQ(read().error().cause, ReadFailure::Cause::unavailable);

    faulty.set_faults({.short_read = 0.1, .corrupt_read = 0.1, .unavailable = 0.1});
    int good = 0;
    for (int i = 0; i < 200; ++i) {
        auto const answer = read();
        if (!answer) continue;
        EXPECT_TRUE(*answer == content);
        ++good;
    }
    EXPECT_GT(good, 190) << "each read has three attempts, of which 7 in 10 succeed";
}

TEST(FaultySeeds, TheSameSeedGivesTheSameFaults)
{
    auto const outcomes = [](std::uint64_t seed) {
        MemoryStore inner;
        FaultyStore faulty(
            inner,
            {.lost_request = 0.2, .lost_reply = 0.2, .delayed_create = 0.2, .unavailable = 0.2},
            seed);
        std::vector<int> seen;
        for (int i = 0; i < 200; ++i) {
            auto const outcome = faulty.create(commit(i % 20), bytes_of("x"));
            seen.push_back(outcome ? static_cast<int>(*outcome) : -1);
        }
        seen.push_back(faulty.injected());
        return seen;
    };
    EXPECT_EQ(outcomes(3), outcomes(3));
    EXPECT_NE(outcomes(3), outcomes(4));
}

}  // namespace
}  // namespace curtail::store
