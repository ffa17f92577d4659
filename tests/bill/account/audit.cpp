// SPDX-License-Identifier: Apache-2.0
// What an auditor reads of the run in small_run.hpp.
#include "bill/account/audit.hpp"

#include <gmock/gmock.h>

#include "bill/account/shown.hpp"
#include "bill/account/small_run.hpp"
#include "bill/report/html.hpp"

namespace curtail::account::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The texts of the lines with the key `key`.
std::vector<std::string> texts(Account const& account, std::string const& key)
{
    std::vector<std::string> out;
    for (auto const& line : audit_of(account))
        if (line.key == key) out.push_back(line.title + ": " + line.text);
    return out;
}

// 474 g for 0.0072 million tokens.
TEST(Sci, IsNotStatedUnlessEverySiteStatesItsEmbodiedCarbon)
{
    auto files = small_run();
    files.run.sites[0].embodied_gco2_per_hour = 100;
    auto const account = account_of(files);
    EXPECT_FALSE(sci_of(account));
    EXPECT_NEAR(grams_per_million_tokens(account).value(), 474 / 0.0072, 1e-6);
    EXPECT_THAT(texts(account, "sci"), testing::IsEmpty());
    EXPECT_THAT(texts(account, "per_tokens"),
                testing::ElementsAre("Per million tokens: 65800 g CO2 of marginal emissions per "
                                     "million tokens in the model; this is no SCI, because not "
                                     "each site states embodied_gco2_per_hour"));
}

// EAST holds devices for 2.5 h and WEST for 2 h: 2.5 x 100 + 2 x 50 = 350 g.
TEST(Sci, AddsTheEmbodiedCarbonOfTheHoursInWhichDevicesAreHeld)
{
    auto files = small_run();
    files.run.sites[0].embodied_gco2_per_hour = 100;
    files.run.sites[1].embodied_gco2_per_hour = 50;
    auto const account = account_of(files);
    auto const sci = sci_of(account);
    ASSERT_TRUE(sci);
    EXPECT_NEAR(sci->embodied.value, 350, 1e-9);
    EXPECT_NEAR(sci->g_per_million_tokens, (474 + 350) / 0.0072, 1e-6);
    EXPECT_THAT(texts(account, "sci"),
                testing::ElementsAre(HasSubstr("474 g operational and 350 g embodied")));
    auto const doc = report::document(account, std::nullopt);
    EXPECT_NEAR(number(doc, {"audit", "sci", "embodied_g"}), 350, 1e-9);
}

TEST(Sci, OfAForkCountsItsOwnTokensOnly)
{
    auto files = small_run();
    auto const before = account_of(files);
    files.spec = protocol::RunSpec{};
    files.spec->fork = protocol::ForkRef{{"mine"}, {12}, {}};
    for (auto& commit : files.commits) commit.tokens += Tokens{1'000'000};
    auto const account = account_of(files);
    EXPECT_EQ(account.tokens, before.tokens + Tokens{1'000'000});
    EXPECT_EQ(account.trained(), before.tokens);
    EXPECT_EQ(grams_per_million_tokens(account), grams_per_million_tokens(before));
    EXPECT_THAT(texts(account, "per_tokens"),
                testing::ElementsAre(HasSubstr("that this run has trained")));
    ASSERT_EQ(account.always_on.size(), before.always_on.size());
    for (std::size_t i = 0; i < account.always_on.size(); ++i)
        EXPECT_EQ(account.always_on[i].tally.energy, before.always_on[i].tally.energy);
    auto const& rows = account.facts.at(0).rows;
    EXPECT_THAT(rows.back().second.value(), HasSubstr("commit 12 of run mine, with 1"));
}

// The run file is that of the machine that makes the report; an amendment may have changed the
// terms.
TEST(Facts, AreThoseOfTheTermsInForce)
{
    auto files = small_run();
    files.spec = protocol::RunSpec{};
    files.spec->params.round_time = Seconds{77};
    files.spec->outer.type = protocol::Outer::Type::nesterov;
    files.spec->outer.mu = 0.125;
    std::string all;
    for (auto const& group : account_of(files).facts)
        for (auto const& [name, value] : group.rows) all += name + ": " + value.value_or("") + "\n";
    EXPECT_THAT(all, HasSubstr("round, two or more sites: 77 s"));
    EXPECT_THAT(all, HasSubstr("mu 0.125"));
}

// EAST is polled from 0:00 and holds devices from 0:00 to 2:30, WEST from 1:00 and from 1:00 to
// 3:00. The last record is of 3:06.
TEST(Sci, CountsTheHoursInWhichNodesAreIdleBetweenJobs)
{
    auto files = small_run();
    for (auto& site : files.run.sites) site.between_jobs = energy::BetweenJobs::idle;
    files.run.sites[0].embodied_gco2_per_hour = 100;
    files.run.sites[1].embodied_gco2_per_hour = 50;
    EXPECT_NEAR(sci_of(account_of(files)).value().embodied.value, 310 + 105, 1e-9);
    files.sites[1] = {};
    std::erase_if(files.poller_events,
                  [](Event const& e) { return e.site == "WEST" && e.type.starts_with("job"); });
    files.commits.back().contributions.pop_back();
    auto account = account_of(files);
    EXPECT_NEAR(account.sites[1].embodied.value().value, 100, 1e-9) << "it waits, to 3:00";
    files.run.sites[1].embodied_gco2_per_hour.reset();
    EXPECT_EQ(sci_of(account_of(files)).error(), "not each site states embodied_gco2_per_hour");
    files.run.sites[1].between_jobs = energy::BetweenJobs::unknown;
    EXPECT_EQ(sci_of(account_of(files)).error(), "it is unknown what some nodes do between jobs");
}

TEST(Sci, IsUnknownWithoutCarbonOrTokens)
{
    auto files = small_run();
    files.trace.clear();
    EXPECT_FALSE(sci_of(account_of(files)));
    files = small_run();
    files.commits.clear();
    EXPECT_FALSE(sci_of(account_of(files)));
    EXPECT_EQ(entry(report::document(account_of(files), std::nullopt), {"audit", "sci"}),
              json::Value());
}

TEST(Audit, NamesPowerSourceAndPueOfEachGroupOfSites)
{
    auto files = small_run();
    for (auto& site : files.run.sites) site.power_source = "nameplate";
    EXPECT_THAT(texts(account_of(files), "power"),
                testing::ElementsAre("Power of EAST, WEST: nameplate; 0.4 kW idle, 2 kW training, "
                                     "PUE 1; modelled, not metered; nodes released between jobs"));
    files.run.sites[1].power->pue = 1.3;
    files.run.sites[1].power_source = "";
    EXPECT_THAT(
        texts(account_of(files), "power"),
        testing::ElementsAre(HasSubstr("EAST: nameplate"),
                             AllOf(HasSubstr("WEST: source not stated"), HasSubstr("PUE 1.3"))));
}

TEST(Audit, NamesSignalKindProviderRuleAndScope)
{
    auto files = small_run();
    files.estimated_samples = 3;
    auto const account = account_of(files);
    EXPECT_THAT(texts(account, "signal"),
                testing::ElementsAre("Signal: marginal carbon intensity; hand.csv; the provider "
                                     "marked 3 samples as estimated"));
    EXPECT_THAT(texts(account, "rule"), testing::ElementsAre(HasSubstr("rule: hold:")));
    EXPECT_THAT(texts(account, "scope"), testing::ElementsAre(AllOf(HasSubstr("marginal emissions"),
                                                                    HasSubstr("no inventory"))));
}

// 3.4 kWh at 300 g/kWh and 3.2 kWh at 100 g/kWh: 1340 g.
TEST(Audit, ShowsAverageIntensityBesideMarginalWithoutChangingTheBill)
{
    auto files = small_run();
    EXPECT_THAT(texts(account_of(files), "average"), testing::ElementsAre(HasSubstr("not known")));
    files.averages = {hourly("E", {300, 300, 300, 300}), hourly("W", {100, 100, 100, 100})};
    auto const account = account_of(files);
    EXPECT_EQ(account.sites[0].bill.total, account_of(small_run()).sites[0].bill.total);
    EXPECT_THAT(texts(account, "average"),
                testing::ElementsAre(HasSubstr("203 g/kWh at average intensity beside 71.8 "
                                               "g/kWh at marginal intensity; 1.34 kg CO2")));
    auto const doc = report::document(account, std::nullopt);
    EXPECT_NEAR(number(doc, {"audit", "average", "g"}), 1340, 1e-9);
    EXPECT_EQ(entry(doc, {"signals", "kind"}), json::Value("marginal"));
}

TEST(Audit, SaysHowMuchOfTheEnergyHasAnAverageIntensity)
{
    auto files = small_run();
    files.averages = {hourly("E", {300, 300, std::nullopt}), hourly("W", {100, 100, 100, 100})};
    EXPECT_THAT(texts(account_of(files), "average"),
                testing::ElementsAre(HasSubstr(
                    "at least 1.28 kg CO2, location-based (Scope 2); 3.03 % of the energy has no "
                    "average sample")));
    files.averages.pop_back();
    EXPECT_THAT(texts(account_of(files), "average"),
                testing::ElementsAre(HasSubstr("a region of a site has no average sample")));
}

// WEST draws 0.4 kW from 3:00 to 3:06 because of the line that no commit fixes, at 120 g/kWh.
TEST(Audit, StatesTheTailOfEachSiteAndTheFiguresWithoutIt)
{
    auto files = small_run();
    auto fixed = files;
    fixed.sites[1].events.pop_back();
    files.fixed = std::make_shared<RunFiles const>(fixed);
    auto const account = account_of(files);
    auto const doc = report::document(account, std::nullopt);
    for (std::vector<char const*> path :
         {std::vector{"audit", "tail", "sites", "WEST", ""}, {"audit", "tail", "sum", ""}}) {
        for (auto const& [key, amount] : {std::pair{"s", 360.0}, {"kwh", 0.04}, {"g", 4.8}}) {
            path.back() = key;
            EXPECT_NEAR(number(doc, path), amount, 1e-9) << key;
        }
    }
    EXPECT_EQ(number(doc, {"audit", "tail", "sites", "EAST", "kwh"}), 0);
    EXPECT_THAT(
        texts(account, "tail"),
        testing::ElementsAre(AllOf(
            HasSubstr("EAST: 0 s, 0 kWh and 0 kg CO2; WEST: 360 s, 0.0400 kWh and 0.00480 kg"),
            HasSubstr("; in sum 360 s, 0.0400 kWh and 0.00480 kg CO2 depend on lines that no"),
            HasSubstr("; from the other lines alone: 6.64 kWh, 0.479 kg CO2, "),
            HasSubstr("% goodput, training perplexity"))));
}

TEST(Audit, SaysThatTheTailOfUnknownPowerIsUnknown)
{
    auto files = small_run();
    files.run.sites[1].power.reset();
    auto fixed = files;
    fixed.sites[1].events.pop_back();
    files.fixed = std::make_shared<RunFiles const>(fixed);
    auto const account = account_of(files);
    EXPECT_THAT(texts(account, "tail"),
                testing::ElementsAre(
                    AllOf(HasSubstr("WEST: 360 s, an unknown amount of energy and CO2; in sum 360 "
                                    "s, an unknown amount of energy and CO2 depend"),
                          HasSubstr("EAST: 0 s, 0 kWh and 0 kg CO2"))));
    auto const doc = report::document(account, std::nullopt);
    EXPECT_TRUE(std::isnan(number(doc, {"audit", "tail", "sites", "WEST", "kwh"})));
    EXPECT_EQ(number(doc, {"audit", "tail", "sites", "EAST", "kwh"}), 0);
}

// The bill of the fixed lines is that of these lines alone: what comes after them is the tail.
TEST(Audit, KnowsTheCarbonOfFixedLinesThatEndEarlier)
{
    auto files = small_run();
    auto fixed = files;
    fixed.sites[1].events.resize(3);
    fixed.sites[1].metrics.resize(3);
    fixed.sites[1].publication.is_remote = true;
    fixed.sites[1].publication.until = at(2.75);
    std::erase_if(fixed.poller_events, [](Event const& e) { return e.time > at(2.75); });
    files.fixed = std::make_shared<RunFiles const>(fixed);
    EXPECT_THAT(
        texts(account_of(files), "tail"),
        testing::ElementsAre(AllOf(HasSubstr("; from the other lines alone: 6."),
                                   HasSubstr(" kg CO2, "), Not(HasSubstr("unknown amount")))));
}

// Who appends samples makes always-on longer: the tail says by how much.
TEST(Audit, NamesAlwaysOnOfSamplesThatNoCommitFixes)
{
    auto files = small_run();
    auto fixed = files;
    files.fixed = std::make_shared<RunFiles const>(fixed);
    EXPECT_THAT(texts(account_of(files), "tail"), testing::Each(Not(HasSubstr("rest on samples"))));
    fixed.trace[0].points.resize(1);
    files.fixed = std::make_shared<RunFiles const>(fixed);
    EXPECT_THAT(texts(account_of(files), "tail"),
                testing::ElementsAre(
                    HasSubstr("; 3600 s of always-on in E rest on samples that no commit fixes")));
}

TEST(Audit, IsInTheTablesAndOnThePageWithoutScripts)
{
    auto const account = account_of(small_run());
    for (auto const& line : audit_of(account)) {
        EXPECT_THAT(summary_text(account), HasSubstr(line.title + ": " + line.text));
        EXPECT_THAT(page_text(account), HasSubstr(report::escape_html(line.text)));
    }
}

}  // namespace
}  // namespace curtail::account::test
