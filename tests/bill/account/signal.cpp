// SPDX-License-Identifier: Apache-2.0
// Which samples a run is billed with, and what a second bill is.
#include "bill/account/signal.hpp"

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
    auto const traced = account({.trace = other_trace()});
    EXPECT_TRUE(total_of(traced).known_carbon());
    EXPECT_EQ(traced.recalculated, nullptr);
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
