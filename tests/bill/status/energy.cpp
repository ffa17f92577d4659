// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/synthetic_run.hpp"
#include "bill/status/energy_view.hpp"
#include "bill/status/text.hpp"
#include "run/runlog/trainer_events.hpp"
#include "run/samples/trace.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The files of a replay with three sites; the poller kept the samples of its trace.
class Energy : public testing::Test {
  protected:
    void write(account::test::Synthetic const& how)
    {
        account::test::write_synthetic_run(folder_.path(), how);
        run_ = config::read_run(folder_ / "run.json").value();
        auto const trace = samples::read_trace(folder_ / "trace.csv").value();
        for (auto const& site : run_.sites) {
            std::vector<samples::Sample> samples;
            auto const known = trace.samples(site.region).value();
            for (auto const& point : known)
                samples.push_back({point, "trace", samples::SignalType::marginal, {}});
            samples::SampleLog log(run_.poller_folder(site.site) / "signals.jsonl");
            log.add(site.region, samples);
            ASSERT_TRUE(log.write());
        }
    }
    [[nodiscard]] EnergyReading read() const
    {
        return read_energy(run_, read_logs(run_, journal::LogReader(run_, nullptr)));
    }
    [[nodiscard]] account::Account reported() const
    {
        return account::account_of(account::load_run(run_.file).value());
    }
    void expect_as_reported() const
    {
        auto const found = read();
        ASSERT_TRUE(found.energy) << testing::PrintToString(found.notes);
        auto const report = reported();
        EXPECT_GT(account::total_of(report).energy.value, 0);
        // The status does not compare the records with each other.
        auto const amount = [](energy::Tally tally) {
            tally.bound = energy::Bound::exact;
            return tally;
        };
        EXPECT_EQ(found.energy->total(), amount(account::total_of(report)));
        for (std::size_t s = 0; s < report.sites.size(); ++s)
            EXPECT_EQ(found.energy->sites[s].tally, amount(report.sites[s].bill.total)) << s;
    }
    curtail::test::TemporaryFolder folder_;
    config::Run run_;
};

TEST_F(Energy, EqualsThatOfTheReport)
{
    write({});
    expect_as_reported();
    auto const sample = read().energy->sites.at(0).sample;
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->time, reported().signals.at(0).points.back().time);
}

TEST_F(Energy, EqualsThatOfTheReportAfterATrainerWasKilled)
{
    write({});
    auto const path = run_.site_folder(run_.sites[0].site) / "events.jsonl";
    auto const all = runlog::read_events(path).value().events;
    ASSERT_TRUE(write_file(path, ""));
    runlog::EventLog const log(path);
    // The first trainer logs nothing after it began to train.
    bool killed = false;
    int starts = 0;
    for (auto const& event : all) {
        if (runlog::trainer_start_in(event)) ++starts;
        bool const kept = !killed || starts > 1;
        EXPECT_TRUE(!kept || log.append(event));
        auto const change = runlog::state_change_in(event);
        killed = killed || (change && change->state == "training");
    }
    ASSERT_GT(starts, 1);
    // Later steps, so that the end of the file tells nothing about the killed trainer.
    runlog::StepMetrics step;
    step.time = all.back().time;
    step.duration = Seconds{30};
    for (int i = 0; i < 600; ++i) {
        step.time += Seconds{30};
        ASSERT_TRUE(
            runlog::append_metrics(run_.site_folder(run_.sites[0].site) / "metrics.jsonl", step));
    }
    expect_as_reported();
}

TEST_F(Energy, IsUnknownWithoutThePollersFiles)
{
    write({});
    std::filesystem::remove_all(run_.poller_folder());
    EXPECT_FALSE(read().energy);
    EXPECT_THAT(read().notes, ElementsAre());
    write({});
    auto const events = run_.poller_folder(run_.sites[0].site) / "events.jsonl";
    std::filesystem::remove(events);
    std::filesystem::create_directory(events);
    EXPECT_FALSE(read().energy);
    EXPECT_THAT(read().notes, ElementsAre(HasSubstr("energy and carbon are unknown")));
}

TEST(EnergyText, NamesALowerBoundAndUnknownCarbon)
{
    Overview overview{{"small"}, "file:///x", *parse_time("2026-11-21T10:02:17Z"), {}, {}};
    auto& site = overview.energy.emplace().sites.emplace_back();
    auto const shown = [&](double wh, double unknown_wh, double grams) {
        site.tally = {};
        site.tally.energy = {wh};
        site.tally.unknown = {unknown_wh};
        site.tally.carbon = {grams};
        return overview_text(overview);
    };
    EXPECT_THAT(shown(12'345, 0, 678), HasSubstr("energy    12.3 kWh so far, 678 gCO2\n"));
    EXPECT_THAT(shown(1.5, 0, -250.4), HasSubstr("energy    0.00150 kWh so far, -250 gCO2\n"));
    EXPECT_THAT(shown(12'345, 1'000, 678),
                HasSubstr("so far, at least 678 gCO2 (intensity unknown for 1.00 kWh)\n"));
    EXPECT_THAT(shown(12'345, 12'345, 0), HasSubstr("so far, carbon unknown\n"));
}

}  // namespace
}  // namespace curtail::status
