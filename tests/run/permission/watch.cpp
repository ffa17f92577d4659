// SPDX-License-Identifier: Apache-2.0
#include "run/permission/watch.hpp"

#include <gtest/gtest.h>

namespace curtail::permission {
namespace {

Time const noon = from_unix_ms(1'768'132'800'000);
MonoTime const start{Seconds{1000}};

Permission permission_at(Time issued, std::int64_t serial = 1, Millis lifetime = Seconds{100})
{
    return {{"demo"},          {"SPP_TX"},          serial, issued, lifetime,
            issued + lifetime, "the window is open"};
}
Reading const missing{std::optional<Permission>{}};
Reading const torn = fail(ExitCode::temporary, "cannot use the permission", "it is torn");

// A job at a moment `after` its start, on both clocks.
struct Job {
    JobWatch watch;
    explicit Job(Requirement requirement) : watch(requirement) {}
    std::optional<Error> see(Reading const& reading, Millis after)
    {
        return watch.see(reading, start + after, noon + after);
    }
    [[nodiscard]] bool may_train(Millis after) const
    {
        return !watch.end(start + after, noon + after);
    }
};

TEST(PermissionWatch, AJobTrainsUntilItsPermissionEnds)
{
    Job job(Requirement::always);
    EXPECT_FALSE(job.see(permission_at(noon), Seconds{0}));
    EXPECT_TRUE(job.may_train(Millis{99'999}));
    EXPECT_FALSE(job.may_train(Seconds{100}));
}

TEST(PermissionWatch, ARenewedPermissionCountsFromItsFirstSight)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon), Seconds{0});
    (void)job.see(permission_at(noon + Seconds{60}, 2), Seconds{61});
    (void)job.see(permission_at(noon + Seconds{60}, 2), Seconds{90});
    EXPECT_TRUE(job.may_train(Millis{159'999}));
    EXPECT_FALSE(job.may_train(Seconds{160}));
}

TEST(PermissionWatch, ThePermissionEndsAtTheMonotonicEndAlthoughTheClockWasSetBack)
{
    JobWatch watch(Requirement::always);
    (void)watch.see(permission_at(noon), start, noon);
    auto const hour_back = noon - Seconds{3600};
    EXPECT_FALSE(watch.end(start + Seconds{99}, hour_back));
    EXPECT_TRUE(watch.end(start + Seconds{100}, hour_back));
}

TEST(PermissionWatch, ThePermissionEndsAtItsRealTimeAlthoughTheJobSawItLate)
{
    JobWatch watch(Requirement::always);
    (void)watch.see(permission_at(noon), start, noon + Seconds{90});
    EXPECT_FALSE(watch.end(start + Seconds{9}, noon + Seconds{99}));
    EXPECT_TRUE(watch.end(start + Seconds{10}, noon + Seconds{100}));
}

TEST(PermissionWatch, AWithdrawnPermissionEndsAtOnceAndSaysWhy)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon), Seconds{0});
    auto closed = permission_at(noon + Seconds{5}, 2, Millis{0});
    closed.why = "the window is closed";
    (void)job.see(closed, Seconds{6});
    auto const end = job.watch.end(start + Seconds{6}, noon + Seconds{6});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->serial, 2);
    EXPECT_EQ(end->why, "the poller ended the permission: 'the window is closed'");
}

TEST(PermissionWatch, NothingInAReasonIsExpandedByAShell)
{
    Job job(Requirement::always);
    auto closed = permission_at(noon, 1, Millis{0});
    closed.why = "it's $(touch x)\n";
    (void)job.see(closed, Seconds{0});
    EXPECT_EQ(job.watch.end(start, noon)->why,
              R"(the poller ended the permission: 'it'\''s $(touch x)\x0a')");
}

TEST(PermissionWatch, AJobThatSleptReadsItsPermissionAgain)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon), Seconds{0});
    EXPECT_FALSE(job.may_train(Seconds{100}));
    EXPECT_FALSE(job.watch.has_read_since(start + Seconds{100}));
    (void)job.see(permission_at(noon + Seconds{90}, 2), Seconds{100});
    EXPECT_TRUE(job.watch.has_read_since(start + Seconds{100}));
    EXPECT_TRUE(job.may_train(Seconds{100}));
}

TEST(PermissionWatch, ASerialThatNoPollerCanHaveWrittenDoesNotCount)
{
    for (auto const lifetime : {Seconds{100}, Seconds{0}}) {
        Job job(Requirement::always);
        (void)job.see(permission_at(noon), Seconds{0});
        EXPECT_TRUE(job.see(permission_at(noon, largest_serial, lifetime), Seconds{50}));
        EXPECT_TRUE(job.may_train(Seconds{99}));
        EXPECT_FALSE(job.see(permission_at(noon + Seconds{60}, 2), Seconds{60}));
        EXPECT_TRUE(job.may_train(Seconds{159}));
    }
}

TEST(PermissionWatch, AnUnusableFileDoesNotExtendThePermission)
{
    for (auto const& reading : {torn, missing}) {
        Job job(Requirement::always);
        (void)job.see(permission_at(noon), Seconds{0});
        (void)job.see(reading, Seconds{50});
        EXPECT_TRUE(job.may_train(Seconds{99}));
        EXPECT_FALSE(job.may_train(Seconds{100}));
    }
}

TEST(PermissionWatch, AnUnusableFileIsReportedOnce)
{
    Job job(Requirement::always);
    EXPECT_TRUE(job.see(torn, Seconds{0}));
    EXPECT_FALSE(job.see(torn, Seconds{1}));
    EXPECT_FALSE(job.see(permission_at(noon), Seconds{2}));
    EXPECT_TRUE(job.see(torn, Seconds{3}));
}

TEST(PermissionWatch, APermissionFromTheFutureDoesNotCount)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon), Seconds{0});
    auto const problem = job.see(permission_at(noon + Seconds{3600}, 2), Seconds{50});
    ASSERT_TRUE(problem);
    EXPECT_EQ(problem->code, ExitCode::temporary);
    EXPECT_FALSE(job.may_train(Seconds{100}));
}

TEST(PermissionWatch, APermissionFromTheFutureIsReportedOnce)
{
    Job job(Requirement::always);
    EXPECT_TRUE(job.see(permission_at(noon + Seconds{3600}), Seconds{0}));
    EXPECT_FALSE(job.see(permission_at(noon + Seconds{3600}), Seconds{1}));
}

TEST(PermissionWatch, AWithdrawalFromTheFutureCounts)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon), Seconds{0});
    EXPECT_FALSE(job.see(permission_at(noon + Seconds{90}, 2, Millis{0}), Seconds{1}));
    EXPECT_FALSE(job.may_train(Seconds{1}));
}

TEST(PermissionWatch, AnOlderSerialDoesNotCount)
{
    Job job(Requirement::always);
    (void)job.see(permission_at(noon, 2), Seconds{0});
    (void)job.see(permission_at(noon + Seconds{50}, 1), Seconds{50});
    EXPECT_FALSE(job.may_train(Seconds{100}));
}

TEST(PermissionWatch, OnlyAJobOfThePollerNeedsAFile)
{
    EXPECT_FALSE(Job(Requirement::always).may_train(Seconds{0}));
    EXPECT_TRUE(Job(Requirement::if_served).may_train(Seconds{0}));
    EXPECT_TRUE(Job(Requirement::never).may_train(Seconds{0}));
}

TEST(PermissionWatch, AJobByHandObeysAPollerThatAppears)
{
    Job job(Requirement::if_served);
    (void)job.see(missing, Seconds{0});
    (void)job.see(permission_at(noon + Seconds{5}, 1, Millis{0}), Seconds{6});
    EXPECT_FALSE(job.may_train(Seconds{6}));
}

TEST(PermissionWatch, AJobByHandStopsIfItsFileWasNeverReadable)
{
    Job job(Requirement::if_served);
    (void)job.see(torn, Seconds{0});
    EXPECT_FALSE(job.may_train(Seconds{0}));
}

TEST(PermissionWatch, AJobWithoutPollerIgnoresTheFile)
{
    Job job(Requirement::never);
    (void)job.see(permission_at(noon, 1, Millis{0}), Seconds{0});
    EXPECT_TRUE(job.may_train(Seconds{1}));
}

struct StartCase {
    char const* name;
    Requirement requirement;
    Reading reading;
    bool may_start;
};

TEST(PermissionStart, DependsOnNeedAndFile)
{
    auto const valid = permission_at(noon);
    auto const expired = permission_at(noon - Seconds{100});
    auto const future = permission_at(noon + Seconds{61});
    auto const withdrawn = permission_at(noon, 1, Millis{0});
    for (auto const& [name, requirement, reading, may_start] : {
             StartCase{"poller's job, valid", Requirement::always, valid, true},
             {"poller's job, missing", Requirement::always, missing, false},
             {"poller's job, torn", Requirement::always, torn, false},
             {"poller's job, expired", Requirement::always, expired, false},
             {"poller's job, future", Requirement::always, future, false},
             {"by hand, valid", Requirement::if_served, valid, true},
             {"by hand, missing", Requirement::if_served, missing, true},
             {"by hand, torn", Requirement::if_served, torn, false},
             {"by hand, expired", Requirement::if_served, expired, false},
             {"by hand, withdrawn", Requirement::if_served, withdrawn, false},
             {"without poller, withdrawn", Requirement::never, withdrawn, true},
             {"without poller, torn", Requirement::never, torn, true},
         }) {
        auto const checked = check_start(requirement, reading, noon);
        EXPECT_EQ(checked.has_value(), may_start) << name;
        if (checked) continue;
        EXPECT_EQ(checked.error().code, ExitCode::temporary) << name;
    }
}

}  // namespace
}  // namespace curtail::permission
