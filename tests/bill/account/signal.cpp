// SPDX-License-Identifier: Apache-2.0
// Which samples a run is billed with, and what a second bill is.
#include "bill/account/signal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/synthetic_run.hpp"
#include "bill/report/document.hpp"
#include "run/samples/trace.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using testing::HasSubstr;

// A replay whose pollers have logged their samples and the digest of their trace.
class Signal : public testing::Test {
  protected:
    Signal()
    {
        test::write_synthetic_run(folder_.path(), {});
        auto const run = config::read_run(folder_ / "run.json").value();
        auto const trace = samples::read_trace(folder_ / "trace.csv").value();
        for (auto const& site : run.sites) {
            samples::SampleLog log(run.poller_folder(site.site) / "signals.jsonl");
            log.add(site.region, trace.samples(site.region).value());
            EXPECT_TRUE(log.write());
        }
    }
    // The run's trace with another value in one row.
    std::filesystem::path other_trace()
    {
        auto text = read_file(folder_ / "trace.csv").value();
        std::string const row = "2026-01-11 17:05:00+00:00,";
        auto const at = text.find(row) + row.size();
        text.replace(at, text.find(',', at) - at, "868.9");
        EXPECT_TRUE(write_file(folder_ / "other.csv", text));
        return folder_ / "other.csv";
    }
    // Makes the poller of a site log these traces, one after the other.
    void change_source(std::string const& site, std::vector<std::string> const& digests)
    {
        runlog::EventLog const log(log_path(site));
        auto const events = runlog::read_events(log_path(site)).value().events;
        std::filesystem::remove(log_path(site));
        for (auto event : events) {
            if (event.type != "configuration") {
                EXPECT_TRUE(log.append(event));
                continue;
            }
            event.details.erase("source");
            if (digests.empty()) { EXPECT_TRUE(log.append(event)); }
            for (auto const& digest : digests) {
                event.details.set("source", json::Object{{"kind", "trace"}, {"sha256", digest}});
                EXPECT_TRUE(log.append(event));
            }
        }
    }
    [[nodiscard]] std::filesystem::path log_path(std::string const& site) const
    {
        return folder_ / "poller/sites" / site / "events.jsonl";
    }
    Account account(LoadOptions const& options)
    {
        auto const files = load_run(folder_ / "run.json", options);
        EXPECT_TRUE(files) << files.error().message();
        return account_of(*files);
    }
    static std::string audit(Account const& account, std::string const& key)
    {
        auto const doc = report::document(account, std::nullopt);
        for (auto const& line : *doc.find("audit")->as_object()->find("lines")->as_array())
            if (line.as_object()->text_at("key") == key) return line.as_object()->text_at("text");
        return "";
    }

    curtail::test::TemporaryFolder folder_;
};

TEST_F(Signal, OfAReplayIsItsOwnTrace)
{
    auto const own = account({});
    EXPECT_EQ(own.signals.size(), 3U);
    auto const replay = account({.trace = folder_ / "trace.csv"});
    EXPECT_EQ(replay.signal_provider, "trace.csv");
    EXPECT_EQ(replay.recalculated, nullptr);
    EXPECT_EQ(total_of(replay).carbon, total_of(own).carbon);
    EXPECT_EQ(replay.signals.size(), 4U) << "a region without a site";
    EXPECT_EQ(audit(replay, "recalculated"), "");
}

// Samples of a replay have no answer of a provider. Only the trace confirms them.
TEST_F(Signal, OfAReplayIsConfirmedByItsTraceAlone)
{
    auto const trace = sha256(read_file(folder_ / "trace.csv").value()).hex();
    auto const is_uncompared =
        testing::Contains(testing::Pair("Trace not compared", HasSubstr(trace)));
    EXPECT_THAT(account({}).notes, is_uncompared);
    EXPECT_THAT(account({.trace = other_trace()}).notes, is_uncompared);
    auto const compared = account({.trace = folder_ / "trace.csv"});
    for (auto const* title : {"Trace not compared", "Samples without an answer"})
        EXPECT_THAT(compared.notes, testing::Not(testing::Contains(testing::Key(title))));
}

// Without a clock, the run is live.
TEST_F(Signal, OfALiveRunIsConfirmedByAnswers)
{
    std::filesystem::remove(folder_ / "clock.json");
    EXPECT_THAT(account({}).notes,
                testing::Contains(testing::Pair("Samples without an answer",
                                                HasSubstr("CAISO_NORTH poller signals.jsonl: "))));
}

TEST_F(Signal, OfAnotherTraceMakesASecondBill)
{
    auto const own = account({});
    auto const both = account({.trace = other_trace()});
    EXPECT_EQ(total_of(both), total_of(own)) << "the record stays";
    ASSERT_TRUE(both.recalculated);
    EXPECT_GT(total_of(*both.recalculated).carbon, total_of(own).carbon);
    EXPECT_EQ(total_of(*both.recalculated).energy, total_of(own).energy);
    EXPECT_EQ(both.recalculation->differing, 1);
    EXPECT_GT(both.recalculation->samples, 100);
    EXPECT_THAT(audit(both, "recalculated"), HasSubstr("\"other.csv\" is no record of the run"));
    EXPECT_THAT(audit(both, "recalculated"), HasSubstr("1 of "));
    EXPECT_THAT(both.notes, testing::Contains(testing::Pair("Region without a site",
                                                            HasSubstr("intensity of DE"))));
    EXPECT_EQ(both.always_on.size(), 4U);
}

TEST_F(Signal, TraceIsTheSignalOfARunWithoutSamples)
{
    std::filesystem::remove_all(folder_ / "poller/sites/CAISO_NORTH/signals.jsonl");
    std::filesystem::remove_all(folder_ / "poller/sites/SPP_TX/signals.jsonl");
    std::filesystem::remove_all(folder_ / "poller/sites/NEM_SA/signals.jsonl");
    EXPECT_FALSE(total_of(account({})).known_carbon());
    auto const replay = account({.trace = folder_ / "trace.csv"});
    EXPECT_TRUE(total_of(replay).known_carbon());
    EXPECT_EQ(replay.recalculated, nullptr);
    auto const other = account({.trace = other_trace()});
    EXPECT_FALSE(total_of(other).known_carbon()) << "the pollers logged another trace";
    ASSERT_TRUE(other.recalculated);
    EXPECT_TRUE(total_of(*other.recalculated).known_carbon());
    for (auto const* site : {"CAISO_NORTH", "SPP_TX", "NEM_SA"}) change_source(site, {});
    auto const unnamed = account({.trace = other_trace()});
    EXPECT_TRUE(total_of(unnamed).known_carbon()) << "no poller has logged a signal";
    EXPECT_EQ(unnamed.recalculated, nullptr);
}

// Whoever can make one poller log a digest must not choose the signal of all.
TEST_F(Signal, TraceThatNotAllPollersReplayedMakesASecondBill)
{
    auto const trace = sha256(read_file(folder_ / "trace.csv").value()).hex();
    auto const other = sha256(read_file(other_trace()).value()).hex();
    for (auto const& digests : std::vector<std::vector<std::string>>{{other}, {trace, other}, {}}) {
        change_source("SPP_TX", digests);
        for (auto const& file : {folder_ / "trace.csv", folder_ / "other.csv"}) {
            auto const both = account({.trace = file});
            EXPECT_NE(both.recalculated, nullptr) << file << " " << digests.size();
            EXPECT_EQ(total_of(both), total_of(account({})));
        }
    }
}

TEST_F(Signal, SamplesThatDifferFromTheReplayedTraceAreNoted)
{
    auto const file = folder_ / "poller/sites/SPP_TX/signals.jsonl";
    auto text = read_file(file).value();
    auto const at = text.find("2026-01-11T17:05:00");
    auto const value = text.find(R"(kwh":)", at) + 5;
    text.replace(value, text.find(',', value) - value, "1.5");
    ASSERT_TRUE(write_file(file, text));
    auto const replay = account({.trace = folder_ / "trace.csv"});
    EXPECT_THAT(replay.notes,
                testing::Contains(testing::Pair("Samples differ from the trace",
                                                HasSubstr("1 samples of SPP_TX in the pollers' "
                                                          "signals.jsonl, from 2026-01-11"))));
}

// Kinds never mix in a sum, so a changed kind takes a sample away.
TEST_F(Signal, SamplesWithAChangedKindAreNoted)
{
    auto const clean = account({});
    auto const file = folder_ / "poller/sites/SPP_TX/signals.jsonl";
    auto text = read_file(file).value();
    auto const line = text.find("2026-01-11T17:05:00");
    std::string const kind = "marginal";
    text.replace(text.find(kind, line), kind.size(), "average");
    ASSERT_TRUE(write_file(file, text));
    auto const changed = account({});
    auto const note = testing::Pair(
        "Two kinds of samples",
        HasSubstr("SPP_TX poller signals.jsonl: 1 samples of SPP_TX, from 2026-01-11T17:05:00Z"));
    EXPECT_THAT(clean.notes, testing::Not(testing::Contains(testing::Key("Two kinds of samples"))));
    EXPECT_THAT(changed.notes, testing::Contains(note));
}

TEST_F(Signal, ThatProbablyHasAnotherUnitIsHintedAt)
{
    auto const hints = [&](std::vector<double> const& values) {
        std::string text = "point_time,CAISO_NORTH\n";
        for (std::size_t i = 0; i < values.size(); ++i)
            text += fmt::format("2026-01-11T{:02}:00Z,{}\n", i, values[i]);
        EXPECT_TRUE(write_file(folder_ / "unit.csv", text));
        auto files = load_run(folder_ / "run.json").value();
        files.trace = samples::read_trace(folder_ / "unit.csv").value().series();
        std::vector<std::string> found;
        for (auto const& [title, note] : account_of(files).notes)
            if (title == "Check the unit" || title == "Period of the signal") found.push_back(note);
        return found;
    };
    auto const period = HasSubstr("hold for 3600 s, and signal_max_age_s is 600");
    EXPECT_THAT(hints({50, 50, 50}), testing::ElementsAre(period));
    EXPECT_THAT(hints({0.4, 0.35, 0}), testing::ElementsAre(HasSubstr("kg/kWh"), period));
    EXPECT_THAT(hints({1, 9, 17, 25, 33, 48, 56, 64, 77, 100}),
                testing::ElementsAre(HasSubstr("percentiles"), period));
}

TEST_F(Signal, SettingsOfTodayMakeASecondBill)
{
    auto const file = folder_ / "sites-in/CAISO_NORTH.json";
    auto text = read_file(file).value();
    text.replace(text.find("2.024"), 5, "9.000");
    ASSERT_TRUE(write_file(file, text));
    auto const own = account({});
    EXPECT_EQ(own.recalculated, nullptr);
    EXPECT_THAT(own.notes, testing::Contains(testing::Pair("Settings differ", testing::_)));
    auto const both = account({.recalculate = "new hardware"});
    EXPECT_EQ(total_of(both), total_of(own));
    ASSERT_TRUE(both.recalculated);
    EXPECT_GT(total_of(*both.recalculated).energy, total_of(own).energy);
    EXPECT_THAT(audit(both, "recalculated"), HasSubstr("\"new hardware\" is no record"));
}

}  // namespace
}  // namespace curtail::account
