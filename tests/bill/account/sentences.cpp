// SPDX-License-Identifier: Apache-2.0
// What a report may say about ten kinds of runs, and what it must not say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "base/core/columns.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/shown.hpp"
#include "bill/account/small_run.hpp"

namespace curtail::account::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Claims that only some runs may make.
constexpr char const* sci = "SCI 1\\.1";
constexpr char const* location_based = "location-based \\(Scope 2\\)";
constexpr char const* percentage = "% (less|more) than always-on|% of one site always on";
constexpr char const* carbon = "[0-9] kg of CO₂";
constexpr char const* energy = "[0-9] ?kWh";
constexpr char const* lower_bound = "≥|at least [0-9]";

// A complete run of which everything is known: embodied carbon, nodes, and average intensity.
RunFiles complete_run()
{
    auto files = small_run();
    for (auto& site : files.run.sites) site.embodied_gco2_per_hour = 50;
    files.averages = {hourly("E", {300, 300, 300, 300}), hourly("W", {100, 100, 100, 100})};
    files.commits.back().run_complete = true;
    return files;
}

struct Kind {
    char const* name;
    std::function<void(RunFiles&)> change;
    std::vector<char const*> says;
    std::vector<char const*> never;
};

std::vector<Kind> const kinds{
    {"complete", [](RunFiles&) {}, {sci, location_based, percentage, carbon}, {lower_bound}},
    {"without embodied carbon",
     [](RunFiles& f) { f.run.sites[1].embodied_gco2_per_hour.reset(); },
     {"this is no SCI, because not each site states embodied_gco2_per_hour", percentage},
     {sci, lower_bound}},
    {"with negative intensity",
     [](RunFiles& f) {
         f.trace[0] = hourly("E", {-50, -80, -20, -10, -50});
     },
     {"Avoided emissions", "with 0 g/kWh", sci},
     {"[^0-9–][-−][0-9.]+ (kg|g) (of )?CO", lower_bound}},
    {"with unknown intensity",
     [](RunFiles& f) {
         f.trace[1] = hourly("W", {200, std::nullopt, std::nullopt, 120, 400});
     },
     {lower_bound, "Unknown intensity", "count as not below the threshold"},
     {sci, percentage}},
    {"partial",
     [](RunFiles& f) { f.sites[0].metrics.pop_back(); },
     {"CO₂ is unknown", "States and steps differ"},
     {sci, percentage, carbon}},
    {"replay",
     [](RunFiles& f) {
         f.clock = TimeScale{at(0), at(0), 1.000001};
     },
     {"replayed at"},
     {lower_bound}},
    {"without average intensity",
     [](RunFiles& f) { f.averages.clear(); },
     {"Average intensity", "not known"},
     {location_based, lower_bound}},
    {"with a tail",
     [](RunFiles& f) {
         auto fixed = f;
         fixed.sites[1].events.pop_back();
         f.fixed = std::make_shared<RunFiles const>(fixed);
     },
     {"in sum .* s, .* kWh and .* kg CO2 depend on lines that no commit fixes", sci},
     {}},
    {"recalculated",
     [](RunFiles& f) {
         auto other = f;
         other.recalculation = Recalculation{"what if", "other.csv", 10, 3};
         other.trace[0] = hourly("E", {500, 800, 150, 350, 50});
         f.recalculated = std::make_shared<RunFiles const>(other);
     },
     {"what if.{1,6} is no record of the run", "3 of 10 samples have another value"},
     {lower_bound}},
    {"of unknown power",
     [](RunFiles& f) {
         for (auto& site : f.run.sites) site.power.reset();
     },
     {"power unknown", "devices of unknown power",
      "CO₂ is unknown: the power of EAST, WEST is unknown", "not known: the power of a site"},
     {sci, percentage, carbon, energy, location_based}},
};

// The page without its scripts and styles, which no reader sees.
std::string visible(std::string page)
{
    for (std::string const tag : {"script", "style"})
        for (auto at = page.find("<" + tag); at != std::string::npos; at = page.find("<" + tag))
            page.erase(at, page.find("</" + tag, at) - at);
    return page;
}

TEST(Sentences, AreTrueOfEachKindOfRun)
{
    ASSERT_EQ(kinds.size(), 10U);
    for (auto const& kind : kinds) {
        auto files = complete_run();
        kind.change(files);
        auto const account = account_of(files);
        auto const text = summary_text(account) + visible(page_text(account));
        for (auto const* sentence : kind.says)
            EXPECT_TRUE(std::regex_search(text, std::regex(sentence)))
                << kind.name << " must say: " << sentence << "\n"
                << summary_text(account);
        for (auto const* sentence : kind.never) {
            std::smatch found;
            EXPECT_FALSE(std::regex_search(text, found, std::regex(sentence)))
                << kind.name << " must not say: " << sentence << ", but says "
                << std::string(found[0].first - std::min<std::ptrdiff_t>(80, found.position(0)),
                               found[0].second);
        }
    }
}

// Everything that a report says to people.
std::string all_text(Account const& account)
{
    return summary_text(account) + visible(page_text(account));
}

TEST(Sentences, OfAnUpperBoundSayAtMost)
{
    auto account = account_of(complete_run());
    account.sites[0].bill.total.bound = energy::Bound::at_most;
    auto const text = all_text(account);
    EXPECT_THAT(text, ContainsRegex("for at most <b>[0-9.]+ kg of CO₂"));
    EXPECT_THAT(text, HasSubstr("Per million tokens: at most "));
    EXPECT_THAT(text, HasSubstr("≤ "));
    for (auto const* claim : {lower_bound, percentage, sci})
        EXPECT_THAT(text, Not(ContainsRegex(claim)));
}

TEST(Sentences, OfABoundInBothDirectionsSayAbout)
{
    auto files = complete_run();
    files.trace[1] = hourly("W", {200, std::nullopt, std::nullopt, 120, 400});
    auto account = account_of(files);
    account.sites[0].bill.total.bound = energy::Bound::at_most;
    auto const total = total_of(account);
    ASSERT_EQ(total.carbon_bound(), energy::Bound::uncertain);
    auto const text = all_text(account);
    EXPECT_THAT(text, ContainsRegex("for about <b>[0-9.]+ kg of CO₂"));
    EXPECT_THAT(text, ContainsRegex("~ ?[0-9]"));
    EXPECT_THAT(text, Not(ContainsRegex("(at least|at most) <b>[0-9.]+ kg|at least [0-9]")));
}

// Several sites take less time than one for the same work, wherever they train.
TEST(Sentences, CompareNoWallTimeOfSeveralSitesWithThatOfOne)
{
    auto const page = page_text(account_of(complete_run()));
    auto const at = page.find("Wall time");
    ASSERT_NE(at, std::string::npos);
    auto const tile = page.substr(at, page.find("</table>", at) - at);
    EXPECT_THAT(tile, HasSubstr("one site, always on"));
    EXPECT_THAT(tile, Not(ContainsRegex("[+−][0-9.]+ ?%")));
}

// Six sites with names, amounts and regions as long as they get.
RunFiles large_run()
{
    auto files = complete_run();
    for (int s = 2; s < 6; ++s) {
        auto const name = std::string(29, 'S') + std::to_string(s);
        files.run.sites.push_back(site(name, std::string(29, 'R') + std::to_string(s)));
        files.run.sites.back().power = energy::Power{Watts{4.1e5}, Watts{2.3e6}, 1.37};
        files.sites.push_back(files.sites[1]);
        for (auto& e : files.sites.back().events) e.site = name;
        for (auto const& e : std::vector(files.poller_events))
            if (e.site == "WEST") {
                files.poller_events.push_back(e);
                files.poller_events.back().site = name;
            }
        files.trace.push_back(hourly(std::string(29, 'R') + std::to_string(s),
                                     {1200.25, -1999.75, 1234.5, std::nullopt, 1400}));
        files.commits.back().contributions.push_back(
            {{name}, name + ".1.1", 1, true, "", {3'600'000'000}, 4, 0.1});
        files.commits.back().tokens += Tokens{3'600'000'000};
    }
    files.run.run = {std::string(30, 'r')};
    return files;
}

std::vector<Account> many_accounts()
{
    std::vector<Account> out{account_of(large_run())};
    for (auto const& kind : kinds) {
        auto files = complete_run();
        kind.change(files);
        out.push_back(account_of(files));
    }
    return out;
}

TEST(Sentences, FitIntoTheColumnsOfATerminal)
{
    for (auto const& account : many_accounts()) {
        auto const text = report::summary_text(report::document(account, std::nullopt));
        for (auto const line : split(text, '\n'))
            EXPECT_LE(width_of(line), terminal_columns) << line;
    }
}

// The digits that count in a number, such as 3 in `12,300` and in `0.0470`.
std::size_t significant_digits(std::string number)
{
    std::erase(number, ',');
    if (number.find('.') == std::string::npos) number.erase(number.find_last_not_of('0') + 1);
    std::erase(number, '.');
    auto const first = number.find_first_not_of('0');
    return first == std::string::npos ? 0 : number.size() - first;
}

TEST(Sentences, HaveThreeDigitsInAmountsOfEnergyAndCarbonAndInShares)
{
    std::regex const amount("([0-9][0-9,]*\\.?[0-9]*) ?(kWh|kg|%|g/kWh|g CO2|gCO2|g of CO)");
    for (auto const& account : many_accounts()) {
        // Widths of bars are for the browser.
        auto const text =
            std::regex_replace(all_text(account), std::regex(" style=\"[^\"]*\""), "");
        for (std::sregex_iterator at(text.begin(), text.end(), amount), end; at != end; ++at)
            EXPECT_LE(significant_digits((*at)[1]), 3U) << at->str();
    }
}

// EAST holds devices from its first poll at 0:00 to 2:30, and WEST from 1:00 to 3:00. The run is
// complete at 3:00. Idle nodes draw 0.4 kW.
TEST(Sentences, StateBothFiguresIfNobodySaysWhatTheNodesDoBetweenJobs)
{
    auto files = complete_run();
    auto const released = total_of(account_of(files));
    for (auto& site : files.run.sites) site.between_jobs = energy::BetweenJobs::unknown;
    auto const account = account_of(files);
    EXPECT_EQ(total_of(account), released);
    ASSERT_TRUE(total_if_idle(account));
    EXPECT_DOUBLE_EQ(total_if_idle(account)->energy.value, released.energy.value + 0.5 * 400);
    EXPECT_THAT(summary_text(account),
                HasSubstr("  nodes between jobs: EAST unknown, WEST unknown\n"
                          "  if all of unknown state stay on: 6.80 kWh, 504 marginal gCO2\n"));
    EXPECT_THAT(page_text(account), HasSubstr("It is unknown what some nodes do between jobs"));
    EXPECT_THAT(summary_text(account), Not(HasSubstr("SCI 1.1")));

    for (auto& site : files.run.sites) site.between_jobs = energy::BetweenJobs::idle;
    auto const idle = account_of(files);
    EXPECT_EQ(total_of(idle), *total_if_idle(account));
    EXPECT_FALSE(total_if_idle(idle));
    EXPECT_DOUBLE_EQ(idle.sites[0].bill.by_state.at(energy::PowerState::between_jobs).energy.value,
                     200);
    EXPECT_EQ(held_s(idle.sites[0]), held_s(account.sites[0])) << "idle nodes are not held time";
    EXPECT_THAT(summary_text(idle), HasSubstr("idle nodes between jobs"));
}

}  // namespace
}  // namespace curtail::account::test
