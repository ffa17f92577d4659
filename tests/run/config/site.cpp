// SPDX-License-Identifier: Apache-2.0
// What a site file says about power.
#include "run/config/site.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::config {
namespace {

using testing::HasSubstr;

TEST(SitePower, IsRefusedIfNoSiteCanHaveIt)
{
    auto const message = [&](std::string const& power) -> std::string {
        auto const site =
            parse_site(R"({"site": "A", "launcher": {}, "power": {)" + power + "}}", "site.json");
        return site ? "" : site.error().message();
    };
    auto const powers = [](std::string const& idle, std::string const& training,
                           std::string const& pue) {
        return fmt::format(R"("idle_kw": {}, "training_kw": {}, "pue": {})", idle, training, pue);
    };
    for (auto const* kw : {"0", "-1"}) {
        EXPECT_THAT(message(powers(kw, "2", "1")), HasSubstr("power.idle_kw: must be more than 0"));
        EXPECT_THAT(message(powers("0.1", kw, "1")),
                    HasSubstr("power.training_kw: must be more than 0"));
    }
    EXPECT_THAT(message(powers("2", "1.9", "1")),
                HasSubstr("power.training_kw: must be at least idle_kw"));
    EXPECT_EQ(message(powers("2", "2", "1")), "");
    EXPECT_THAT(message(powers("1", "2", "0.99")), HasSubstr("power.pue: must be 1 to 10"));
    auto const with = [&](std::string const& more) {
        return message(powers("1", "2", "1") + ", " + more);
    };
    EXPECT_THAT(with("\"embodied_gco2_per_hour\": -1"),
                HasSubstr("power.embodied_gco2_per_hour: must be 0 to"));
    EXPECT_EQ(with("\"embodied_gco2_per_hour\": 0"), "");
    EXPECT_THAT(with("\"surce\": \"x\""), HasSubstr("did you mean \"source\"?"));
    EXPECT_THAT(with("\"between_jobs\": \"off\""), HasSubstr("power.between_jobs"));
    EXPECT_EQ(with("\"between_jobs\": \"released\""), "");
}

// A guess would look like a statement, so the power has no default.
TEST(SitePower, IsRequired)
{
    auto const read = [&](std::string const& power) {
        return parse_site(R"({"site": "A", "launcher": {})" + power + "}", "site.json");
    };
    auto const message = [&](std::string const& power) {
        auto const site = read(", \"power\": " + power);
        return site ? "" : site.error().message();
    };
    EXPECT_THAT(read("").error().message(), HasSubstr("power: must be an object with idle_kw"));
    EXPECT_THAT(message("\"none\""), HasSubstr("or \"unknown\""));
    EXPECT_THAT(message("5"), HasSubstr("or \"unknown\""));
    auto const unknown = read(R"(, "power": "unknown")");
    ASSERT_TRUE(unknown) << unknown.error().message();
    EXPECT_EQ(unknown->power, std::nullopt);
    EXPECT_THAT(message(R"({"idle_kw": 1, "training_kw": 2})"), HasSubstr("power.pue"));
    EXPECT_THAT(message(R"({"training_kw": 2, "pue": 1})"), HasSubstr("power.idle_kw"));
    auto const known = read(R"(, "power": {"idle_kw": 1, "training_kw": 2, "pue": 1.2})");
    ASSERT_TRUE(known) << known.error().message();
    EXPECT_EQ(known->power->idle, Watts{1000});
    EXPECT_EQ(known->between_jobs, energy::BetweenJobs::unknown);
    EXPECT_EQ(known->power_source, "");
}

TEST(SitePower, TakesAMeterOnlyWithWhatItCovers)
{
    auto const read = [&](std::string const& meter) {
        return parse_site(R"({"site": "A", "launcher": {}, "power": {"idle_kw": 1, "training_kw": 2,
                              "pue": 1, "meter": )" +
                              meter + "}}",
                          "site.json");
    };
    auto const node = read(R"({"source": "energy_j", "covers": "node"})");
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_EQ(node->meter, (Meter{true, {}}));
    auto const devices = read(R"({"source": "energy_j", "covers": "devices", "rest_kw": 0.4})");
    ASSERT_TRUE(devices) << devices.error().message();
    EXPECT_EQ(devices->meter, (Meter{false, Watts{400}}));
    for (char const* bad :
         {"{}", R"({"source": "ipmi", "covers": "node"})", R"({"source": "energy_j"})",
          R"({"source": "energy_j", "covers": "devices"})",
          R"({"source": "energy_j", "covers": "node", "rest_kw": 1})",
          R"({"source": "energy_j", "covers": "devices", "rest_kw": -1})"})
        EXPECT_FALSE(read(bad)) << bad;
}

TEST(SitePower, TakesAPueThatChanges)
{
    auto const read = [&](std::string const& pue) {
        return parse_site(R"({"site": "A", "launcher": {}, "power": {"idle_kw": 1, "training_kw": 2,
                              "between_jobs": "idle", "pue": )" +
                              pue + "}}",
                          "site.json");
    };
    auto const site = read(R"([{"value": 1.4}, {"from": "2026-07-01T00:00:00Z", "value": 1.2}])");
    ASSERT_TRUE(site) << site.error().message();
    EXPECT_EQ(site->power->pue, 1.4);
    EXPECT_THAT(site->later_pues,
                testing::ElementsAre(PueChange{parse_time("2026-07-01T00:00:00Z").value(), 1.2}));
    EXPECT_EQ(site->between_jobs, energy::BetweenJobs::idle);
    for (char const* bad : {"[]", "0.9", R"("1.2")", R"([{"value": 1.4}, {"value": 1.2}])",
                            R"([{"value": 1.4}, {"from": "yesterday", "value": 1.2}])",
                            R"([{"from": "2026-07-01T00:00:00Z", "value": 1.2}, {"value": 1}])",
                            R"([{"value": 2}, {"from": "2026-07-01T00:00:00Z", "value": 1},
              {"from": "2026-06-01T00:00:00Z", "value": 1}])"})
        EXPECT_FALSE(read(bad)) << bad;
}

}  // namespace
}  // namespace curtail::config
