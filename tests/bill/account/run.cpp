// SPDX-License-Identifier: Apache-2.0
// The account of a synthetic run, and of runs that are incomplete or damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "base/core/clock_file.hpp"
#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/shown.hpp"
#include "bill/account/synthetic_run.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using curtail::test::TemporaryFolder;
using report::document;
using test::summary_text;
using testing::ElementsAre;
using testing::HasSubstr;

Account account_in(TemporaryFolder const& folder, test::Synthetic const& how)
{
    test::write_synthetic_run(folder.path(), how);
    auto const files = load_run(folder / "run.json", {.trace = folder / "trace.csv"});
    if (!files) throw std::runtime_error(files.error().message());
    return account_of(*files);
}

// Whether `key` of the document, an object or each object of a list, has these members and all are
// null.
bool nulls_only(json::Object const& doc, char const* key, std::vector<char const*> const& members)
{
    auto const* value = doc.find(key);
    if (value == nullptr) return false;
    std::vector<json::Object const*> objects;
    if (value->as_object() != nullptr) objects.push_back(value->as_object());
    else
        for (auto const& entry : *value->as_array()) objects.push_back(entry.as_object());
    for (auto const* object : objects)
        for (char const* member : members)
            if (object->find(member) == nullptr || !object->find(member)->is_null()) return false;
    return !objects.empty();
}

TEST(Progress, OfARunThatIsNotCompleteIsInTheDocument)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.stop_at = 20'000});
    auto const doc = document(account, {});
    ASSERT_NE(doc.find("now"), nullptr);
    auto const& now = *doc.find("now")->as_object();
    auto const number = [&](char const* key) { return now.find(key)->as_number().value(); };
    EXPECT_EQ(number("target_tokens"), 2 * 1200 * 2048);
    EXPECT_DOUBLE_EQ(number("share"), number("tokens") / number("target_tokens"));
    EXPECT_DOUBLE_EQ(number("epochs"), number("tokens") / (1200 * 2048));
    EXPECT_NEAR(number("training_left_s"),
                (number("target_tokens") - number("tokens")) / number("tokens_per_s"), 1);
    EXPECT_GT(number("kwh"), 0);
    EXPECT_GT(number("gco2"), 0);
    auto complete = account;
    complete.status = "complete";
    EXPECT_EQ(document(complete, {}).find("now"), nullptr);
}

class DemoRun : public testing::Test {
  protected:
    static void SetUpTestSuite()
    {
        folder_ = new TemporaryFolder;
        account_ = new Account(account_in(*folder_, {}));
    }
    static void TearDownTestSuite()
    {
        delete account_;
        delete folder_;
    }
    static TemporaryFolder* folder_;
    static Account* account_;
};
TemporaryFolder* DemoRun::folder_ = nullptr;
Account* DemoRun::account_ = nullptr;

TEST_F(DemoRun, HasTheEightDecisionsOfTheTrace)
{
    std::vector<std::pair<std::string, double>> opens, closes;
    for (auto const& d : account_->decisions) {
        if (d.from == "closed") opens.emplace_back(account_->sites[d.site].id.value, d.at_s);
        if (d.to == "closed") closes.emplace_back(account_->sites[d.site].id.value, d.at_s);
    }
    using P = std::pair<std::string, double>;
    EXPECT_THAT(opens, ElementsAre(P{"CAISO_NORTH", 300}, P{"CAISO_NORTH", 8400},
                                   P{"NEM_SA", 16800}, P{"SPP_TX", 36300}));
    EXPECT_THAT(closes, ElementsAre(P{"CAISO_NORTH", 8100}, P{"CAISO_NORTH", 23700},
                                    P{"NEM_SA", 55200}, P{"SPP_TX", 62100}));
}

TEST_F(DemoRun, WindowsHaveTheirClosingDelayAndFirstStep)
{
    ASSERT_EQ(account_->windows.size(), 4U);
    auto const& first = account_->windows[0];
    EXPECT_THAT(first.closing, ElementsAre(Span{7500, 8100}));
    EXPECT_NEAR(first.start->seconds, 2.0 + 0.28 - 0.06, 1e-9)
        << "real seconds from the poller's opening to the first step";
    EXPECT_NEAR(*first.released_s, 8100 + 300 * (0.25 + 0.81), 1);
    EXPECT_EQ(*first.close_s, 8100);
}

TEST_F(DemoRun, StatesAreScaledByTheClockFactorAndDoNotOverlap)
{
    for (auto const& site : account_->sites)
        for (std::size_t i = 1; i < site.states.size(); ++i)
            EXPECT_LE(site.states[i - 1].when.to_s, site.states[i].when.from_s + 1e-6)
                << site.id.value << " " << i;
    auto const& states = account_->sites[0].states;
    EXPECT_EQ(states[0].state, "provision");
    EXPECT_EQ(states[0].when.from_s, 300);
    EXPECT_NEAR(states[0].when.to_s, 300 + 0.5 * 300, 1);
    EXPECT_EQ(states[1].state, "starting");
    EXPECT_NEAR(states[1].when.to_s - states[1].when.from_s, 1.5 * 300, 1);
}

TEST_F(DemoRun, EnergyFollowsFromStatesAndPower)
{
    for (auto const& site : account_->sites) {
        double const training = seconds_in(site, "training");
        double const held = seconds_in(site) - seconds_in(site, "provision");
        EXPECT_NEAR(site.bill.total.energy.value,
                    (training * 2024 + (held - training) * 468) / 3600, 1e-3)
            << site.id.value;
        EXPECT_NEAR(site.cumulative.back().energy.value, site.bill.total.energy.value, 1e-6);
        EXPECT_NEAR(site.cumulative.back().carbon.value, site.bill.total.carbon.value, 1e-6);
        EXPECT_GT(*site.bill.inside_share(), 0.97);
        EXPECT_LT(*site.bill.inside_share(), 1);
    }
    energy::Tally windows;
    for (auto const& w : account_->windows) windows += w.tally;
    EXPECT_NEAR(windows.energy.value, total_of(*account_).energy.value, 1e-6)
        << "every job belongs to a window";
}

TEST_F(DemoRun, AlwaysOnTrainsTheTokensAtTheLoneRate)
{
    for (auto const& site : account_->sites)
        EXPECT_NEAR(site.rate->tokens_per_s, 2048 / 0.28, 1e-6);
    ASSERT_EQ(account_->always_on.size(), 4U);
    double const hours = static_cast<double>(account_->tokens) / (2048 / 0.28) * 300 / 3600;
    for (auto const& s : account_->always_on)
        EXPECT_NEAR(s.tally.energy.value, 2024 * hours, 1e-2) << s.region;
    EXPECT_NEAR(*carbon_ratio(total_of(*account_), *account_, account_->always_on[3]),
                total_of(*account_).carbon.value / account_->always_on[3].tally.carbon.value,
                1e-12);
}

TEST_F(DemoRun, RoundsAndCommitsAddUp)
{
    Tokens tokens;
    for (auto const& round : account_->rounds) tokens += round.tokens;
    EXPECT_EQ(tokens, account_->tokens);
    Tokens by_site;
    for (auto const& site : account_->sites) by_site += site.tokens;
    EXPECT_EQ(by_site, account_->tokens);
    EXPECT_EQ(account_->commits.joint + account_->commits.lone,
              static_cast<std::int64_t>(account_->rounds.size()));
    EXPECT_GE(account_->commits.joint, 8);
    auto const& joint = *std::find_if(account_->rounds.begin(), account_->rounds.end(),
                                      [](auto const& r) { return r.joint(); });
    EXPECT_NEAR(joint.parts[0].weight + joint.parts[1].weight, 1, 1e-12);
    EXPECT_NEAR(*joint.merge, 0.2, 1e-9) << "from the last contribution to the commit";
    EXPECT_NEAR(joint.duration, 3.3, 1e-9);
}

TEST_F(DemoRun, ARoundAfterARestBeginsWhenASiteHoldsDevicesAgain)
{
    auto const& rounds = account_->rounds;
    auto const it =
        std::find_if(rounds.begin(), rounds.end(), [](auto const& r) { return r.end_s > 8500; });
    ASSERT_NE(it, rounds.end());
    EXPECT_NEAR(it->start_s, 8400 + 0.5 * 300, 1)
        << "the last commit before was at the end of the first window";
}

TEST_F(DemoRun, DocumentIsStrictJsonWithEveryKeyOfItsSchema)
{
    auto const doc = document(*account_, std::nullopt);
    for (char const* key :
         {"schema", "report",        "run",        "edges",     "sites",       "signals",
          "work",   "headline",      "provenance", "decisions", "windows",     "states",
          "rounds", "round_summary", "loss",       "hours",     "allocated_h", "energy",
          "times",  "comparison",    "events",     "missing",   "facts",       "notes"})
        EXPECT_NE(doc.find(key), nullptr) << key;
    auto const text = json::to_string(doc);
    auto const parsed = json::parse(text, "document");
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->as_object()->members().size(), doc.members().size());
    EXPECT_EQ(json::to_string(document(*account_, std::nullopt)), text)
        << "the same account gives the same document";
}

TEST_F(DemoRun, TableHasDecisionsSitesAlwaysOnAndLoss)
{
    auto const text = summary_text(*account_);
    for (char const* part :
         {"CAISO_NORTH  open       300", "SPP_TX       close    62100", "DE            33.4  ",
          "merged from two sites", "unigram entropy 6.750", "300 times real speed"})
        EXPECT_THAT(text, HasSubstr(part));
}

TEST(Run, WithoutATraceEnergyIsCountedAndCarbonIsUnknown)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const files = load_run(folder / "run.json");
    ASSERT_TRUE(files);
    auto const account = account_of(*files);
    EXPECT_GT(total_of(account).energy.value, 0);
    EXPECT_EQ(total_of(account).unknown, total_of(account).energy);
    EXPECT_FALSE(total_of(account).known_carbon() || total_of(account).clean_share() ||
                 total_of(account).dirty());
    EXPECT_THAT(account.missing.at("always_on"), HasSubstr("--trace"));
    EXPECT_THAT(account.missing.at("carbon"), HasSubstr("--trace"));
    EXPECT_THAT(account.missing.at("ratio"), HasSubstr("100 %"));
    EXPECT_THAT(summary_text(account), HasSubstr("CO2 is unknown: no trace was given"));
    EXPECT_THAT(summary_text(account),
                testing::ContainsRegex("all sites +[0-9.]+ +[0-9.]+ +- +-\n"));
    auto const doc = document(account, std::nullopt);
    EXPECT_TRUE(nulls_only(doc, "headline",
                           {"co2_kg", "co2_outside_kg", "kwh_outside", "share", "mean_intensity"}));
    EXPECT_TRUE(nulls_only(doc, "windows", {"gco2", "gco2_outside", "kwh_outside"}));
    EXPECT_TRUE(nulls_only(doc, "rounds", {"gco2"}));
    EXPECT_TRUE(nulls_only(doc, "comparison", {"kg", "share", "ratio"}));
    for (auto const& [site, grams] :
         doc.find("energy")->as_object()->find("total_g")->as_object()->members())
        EXPECT_TRUE(grams.is_null());
}

TEST(Run, ARegionThatTheTraceLacksLeavesItsCarbonAndTheSumUnknown)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.region_suffix = "_X"});
    EXPECT_FALSE(account.sites[0].bill.total.known_carbon());
    EXPECT_TRUE(account.sites[1].bill.total.whole());
    EXPECT_FALSE(total_of(account).known_carbon()) << "a sum with an unknown part";
    EXPECT_THAT(account.missing.at("carbon"), HasSubstr("has no value for CAISO_NORTH_X"));
    EXPECT_FALSE(account.windows[0].tally.known_carbon());
    bool mixed = false;
    for (auto const& round : account.rounds) {
        bool const blind = std::any_of(round.parts.begin(), round.parts.end(),
                                       [](auto const& p) { return p.site == 0; });
        bool const over = round.start_s > 25'000;  // the site has given its devices back
        if (blind || over) {
            EXPECT_EQ(round.tally.known_carbon().has_value(), over) << round.number;
        }
        mixed = mixed || (blind && round.joint());
    }
    EXPECT_TRUE(mixed) << "the case of a round of which one site is known was not there";
}

TEST(Run, NotBegunHasAnEmptyAccount)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.empty = true});
    EXPECT_EQ(account.status, "waiting for a window");
    EXPECT_TRUE(account.windows.empty() && account.rounds.empty() && !account.loss);
    auto const doc = document(account, std::nullopt);
    for (char const* key : {"headline", "loss", "energy", "comparison"})
        EXPECT_EQ(doc.find(key), nullptr) << key;
    EXPECT_THAT(summary_text(account), HasSubstr("no window has opened"));
}

TEST(Run, InProgressHasOpenWindowsUntilTheLastRecordedTime)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.stop_at = 20'000, .evaluated = false});
    EXPECT_EQ(account.status, "running");
    ASSERT_EQ(account.windows.size(), 3U);
    EXPECT_FALSE(account.windows[1].close_s || account.windows[2].close_s);
    EXPECT_NEAR(account.end_s, 20'000, 300);
    EXPECT_NEAR(account.sites[2].states.back().when.to_s, account.end_s, 1e-6);
}

TEST(Run, EnergyWithoutSignalIsNotedAndPercentagesAreOmitted)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.gaps = true});
    EXPECT_GT(total_of(account).unknown.value, 1000);
    EXPECT_FALSE(carbon_ratio(total_of(account), account, account.always_on[0]));
    EXPECT_THAT(account.missing.at("ratio"), HasSubstr("is unknown"));
    EXPECT_THAT(summary_text(account), HasSubstr("no percentages"));
}

TEST(Run, AKilledTrainersJobEndsWhenThePollerNotices)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const path = folder / "sites/SPP_TX/events.jsonl";
    auto const events = runlog::read_events(path).value().events;
    ASSERT_TRUE(write_file(path, ""));
    for (auto const& event : events) {  // nothing after the stop request was written
        bool const last_words = event.type == "trainer-exit" ||
                                json::to_string(event.details).find("ended") != std::string::npos;
        if (last_words) continue;
        ASSERT_TRUE(runlog::EventLog(path).append(event));
    }
    std::ofstream(path, std::ios::app) << "{\"time\": \"2026-11-21T09:0";
    auto const files = load_run(folder / "run.json", {.trace = folder / "trace.csv"});
    ASSERT_TRUE(files);
    EXPECT_EQ(test::broken_lines_of(*files), 1);
    auto const account = account_of(*files);
    EXPECT_EQ(account.status, "finished");
    EXPECT_NEAR(account.sites[1].states.back().when.to_s, 62'100 + 1.3 * 300, 1);
}

TEST(Run, ATrainerWithoutItsJobIdIsOneJob)
{
    TemporaryFolder const folder;
    auto const expected = account_in(folder, {}).sites[1].bill.total.energy;
    auto const path = folder / "sites/SPP_TX/events.jsonl";
    auto const events = runlog::read_events(path).value().events;
    ASSERT_TRUE(write_file(path, ""));
    for (auto event : events) {
        event.details.erase("job");
        ASSERT_TRUE(runlog::EventLog(path).append(event));
    }
    auto const files = load_run(folder / "run.json", {.trace = folder / "trace.csv"});
    ASSERT_TRUE(files);
    EXPECT_EQ(account_of(*files).sites[1].bill.total.energy, expected);
}

TEST(Progress, IsMeasuredAgainstTheBudgetOfTheNewestCommit)
{
    TemporaryFolder const folder;
    auto const account = account_in(folder, {.stop_at = 20'000, .amended_blocks = 1500});
    ASSERT_TRUE(account.target);
    EXPECT_EQ(account.target->tokens.value, 1500 * 2048);
}

TEST(Run, ADamagedChainIsAnError)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const path = folder / "store/runs/demo/commits/00000005.json";
    auto bytes = read_file(path).value();
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(write_file(path, bytes));
    auto const files = load_run(folder / "run.json");
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code, ExitCode::protocol);
}

TEST(Run, ACommitNamesTheDigestOfItsModel)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const store = store::open_store(store::Address::of_folder(folder / "store")).value();
    chain::RunObjects const objects(*store, {"demo"});
    auto const list = read_commits(objects).value();
    auto const newest = objects.commit({list.commits.back().number}).value().value();
    EXPECT_EQ(list.commits.back().model, newest.model.weights.sha256);
}

TEST(Run, AGapInTheChainIsAnErrorAndAShorterChainIsNot)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const commits = folder / "store/runs/demo/commits";
    auto const store = store::open_store(store::Address::of_folder(folder / "store")).value();
    chain::RunObjects const objects(*store, {"demo"});
    auto const all = read_commits(objects).value().commits.size();
    ASSERT_GT(all, 10U);
    std::filesystem::remove(commits / fmt::format("{:08}.json", all));
    EXPECT_EQ(read_commits(objects).value().commits.size(), all - 1);
    for (char const* name : {"00000005.json", "00000001.json"}) {
        std::filesystem::remove(commits / name);
        auto const chain = read_commits(objects);
        ASSERT_FALSE(chain) << name;
        EXPECT_EQ(chain.error().code, ExitCode::protocol);
        EXPECT_THAT(chain.error().message(), HasSubstr(name));
        EXPECT_THAT(chain.error().message(), HasSubstr("missing"));
    }
}

TEST(Run, ATraceWhoseNameIsNotUtf8LeavesTheDocumentValid)
{
    TemporaryFolder const folder;
    test::write_synthetic_run(folder.path(), {});
    auto const trace = folder / "tr\xff.csv";
    std::filesystem::rename(folder / "trace.csv", trace);
    auto const files = load_run(folder / "run.json", {.trace = trace});
    ASSERT_TRUE(files) << files.error().message();
    auto const text = json::to_string(document(account_of(*files), std::nullopt));
    EXPECT_TRUE(json::parse(text, "document"));
    EXPECT_THAT(text, HasSubstr("tr\\\\xff.csv"));
}

TEST(Run, ABadClockNamesItsKey)
{
    TemporaryFolder const folder;
    EXPECT_FALSE(read_clock(folder.path()).value());
    ASSERT_TRUE(write_file(
        folder / "clock.json",
        R"({"origin": "2026-01-11T17:00Z", "real_origin": "2026-01-11T17:00Z", "factor": 0})"));
    EXPECT_THAT(read_clock(folder.path()).error().message(), HasSubstr("factor"));
}

}  // namespace
}  // namespace curtail::account
