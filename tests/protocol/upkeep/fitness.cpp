// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/fitness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::upkeep {
namespace {

using testing::HasSubstr;
using Level = Finding::Level;

Measurements fit()
{
    Measurements m;
    m.second_create_refused = true;
    m.race = CreateRace{20, 8, 0, 0};
    m.keeps_versions = false;
    m.missing_is_missing = true;
    m.listed = true;
    m.clock = ClockDifference{Millis{-300}, Millis{1010}};
    m.transfer = LargeTransfer{{128'000'000}, FractionalSeconds(1), FractionalSeconds(0.5), true};
    m.removed = true;
    m.open_writes = OpenWrites{0, Millis{0}};
    return m;
}

Finding find(Measurements const& measured, std::string const& check)
{
    for (auto const& finding : findings_of(measured))
        if (finding.check == check) return finding;
    throw std::out_of_range(check);
}

TEST(Fitness, AFitStoreHasOnlyGoodFindings)
{
    auto const findings = findings_of(fit());
    EXPECT_EQ(findings.size(), 9U);
    for (auto const& finding : findings) {
        EXPECT_EQ(finding.level, Level::good) << finding.text;
        EXPECT_FALSE(finding.text.empty());
        EXPECT_EQ(finding.remedy, "");
    }
    EXPECT_EQ(first_fault(findings), nullptr);
    EXPECT_THAT(find(fit(), "transfer").text, HasSubstr("128 MB: up 128.0 MB/s, down 256.0 MB/s"));
}

TEST(Fitness, AStoreThatBreaksTheProtocolIsAtFault)
{
    struct Case {
        char const* check;
        void (*spoil)(Measurements& m);
        ExitCode code;
    };
    for (auto const& [check, spoil, code] : {
             Case{"create", [](auto& m) { m.second_create_refused = false; }, ExitCode::protocol},
             Case{"concurrent-create",
                  [](auto& m) {
                      m.race = CreateRace{20, 8, 1, 0};
                  },
                  ExitCode::protocol},
             Case{"concurrent-create",
                  [](auto& m) {
                      m.race = CreateRace{20, 8, 0, 1};
                  },
                  ExitCode::protocol},
             Case{"versioning", [](auto& m) { m.keeps_versions = true; }, ExitCode::protocol},
             Case{"missing", [](auto& m) { m.missing_is_missing = false; }, ExitCode::protocol},
             Case{"transfer",
                  [](auto& m) {
                      m.transfer =
                          LargeTransfer{{1}, FractionalSeconds(1), FractionalSeconds(1), false};
                  },
                  ExitCode::io},
         }) {
        auto measured = fit();
        spoil(measured);
        auto const finding = find(measured, check);
        EXPECT_EQ(finding.level, Level::fault) << check;
        EXPECT_EQ(finding.code, code) << check;
        EXPECT_NE(finding.remedy, "") << check;
        EXPECT_EQ(first_fault(findings_of(measured))->check, check);
    }
}

TEST(Fitness, WhatHarmsNoRunIsAWarning)
{
    struct Case {
        char const* check;
        void (*spoil)(Measurements& m);
    };
    using std::chrono::hours;
    for (auto const& [check, spoil] : {
             Case{"listing", [](auto& m) { m.listed = false; }},
             Case{"clock",
                  [](auto& m) {
                      m.clock = ClockDifference{Millis{60'001}, Millis{1010}};
                  }},
             Case{"clock",
                  [](auto& m) {
                      m.clock = ClockDifference{Millis{-60'001}, Millis{1010}};
                  }},
             Case{"transfer",
                  [](auto& m) {
                      m.transfer = LargeTransfer{
                          {2'000'000}, FractionalSeconds(1), FractionalSeconds(0.1), true};
                  }},
             Case{"removal", [](auto& m) { m.removed = false; }},
             Case{"unfinished-writes",
                  [](auto& m) {
                      m.open_writes = OpenWrites{1, hours(24)};
                  }},
         }) {
        auto measured = fit();
        spoil(measured);
        auto const finding = find(measured, check);
        EXPECT_EQ(finding.level, Level::warning) << check;
        EXPECT_NE(finding.remedy, "") << check;
        EXPECT_EQ(first_fault(findings_of(measured)), nullptr) << check;
    }
}

TEST(Fitness, WhatIsWithinTheLimitsIsGood)
{
    auto measured = fit();
    measured.clock = ClockDifference{Millis{60'000}, Millis{1010}};
    measured.open_writes = OpenWrites{3, std::chrono::hours(24) - Millis{1}};
    measured.transfer = LargeTransfer{{2 << 20}, FractionalSeconds(1), FractionalSeconds(1), true};
    for (auto const& finding : findings_of(measured)) EXPECT_EQ(finding.level, Level::good);
    EXPECT_THAT(find(measured, "clock").text, HasSubstr("1m00s ahead of"));
    EXPECT_THAT(find(measured, "unfinished-writes").text, HasSubstr("3 unfinished writes"));
}

TEST(Fitness, AFailedCheckIsAFaultWithTheErrorOfTheStore)
{
    auto measured = fit();
    measured.keeps_versions =
        fail(ExitCode::permission, "cannot look", "AccessDenied", "grant s3:GetBucketVersioning");
    EXPECT_EQ(find(measured, "versioning"),
              (Finding{"versioning", Level::fault, "cannot look: AccessDenied",
                       "grant s3:GetBucketVersioning", ExitCode::permission}));
}

TEST(Fitness, ACheckThatWasNotMadeHasNoFinding)
{
    Measurements none;
    EXPECT_TRUE(findings_of(none).empty());
}

}  // namespace
}  // namespace curtail::upkeep
