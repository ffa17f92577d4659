// SPDX-License-Identifier: Apache-2.0
#include "bill/status/prometheus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/core/files.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/child_process.hpp"
#include "support/memory_store.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::status {
namespace {

using testing::HasSubstr;
using testing::Not;

// A run whose metrics are all known.
class Prometheus : public testing::Test {
  protected:
    Prometheus()
    {
        run_.make();
        overview_ = {run_.spec().run,
                     "file:///x",
                     from_unix_ms(1'795'270'001'500),
                     read_chain_view({objects_, run_.spec().run}).value(),
                     {}};
        overview_.speed = account::Speed{2.5, Seconds{1800}, run_.now()};
        auto& held_out = overview_.held_out.emplace();
        held_out.state.newest.line.commit = {6};
        held_out.state.newest.line.loss = 4.5;
        held_out.state.behind_models = 1;
        held_out.warnings = {"the loss has risen"};
        auto& site = overview_.sites.sites.emplace_back();
        site.site = {"A"};
        site.window = "closing";
        site.trainer = "training";
        site.evaluated_until = run_.now();
        site.jobs = {{"1", run_.now(), false}, {"2", {}, false}, {"3", run_.now(), true}};
        overview_.sites.poller_wrote = run_.now();
        auto& energy = overview_.energy.emplace().sites.emplace_back();
        energy.tally.energy = {1000};
        energy.tally.unknown = {100};
        energy.tally.carbon = {72.5};
        energy.sample = SamplePoint{run_.now(), GramsPerKwh{68.5}};
    }
    store::MemoryStore objects_;
    chain::test::SmallRun run_{objects_};
    Overview overview_;
};

TEST_F(Prometheus, PromtoolAcceptsTheMetrics)
{
    auto const promtool = test::source_folder() / ".deps/promtool";
    ASSERT_TRUE(std::filesystem::exists(promtool))
        << promtool << " is missing; run scripts/setup.sh";
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "run.prom", prometheus_text(overview_)));
    auto const [code, output] = test::run_program(
        {"sh", "-c", "exec \"$0\" check metrics < \"$1\"", promtool, folder / "run.prom"});
    EXPECT_EQ(code, 0) << output << prometheus_text(overview_);
    EXPECT_EQ(output, "");
}

TEST_F(Prometheus, HasTheFiguresOfTheRunAndItsSites)
{
    auto const text = prometheus_text(overview_);
    for (auto const* line : {
             "curtail_store_up{run=\"small\"} 1\n",
             "curtail_status_timestamp_seconds{run=\"small\"} 1795270001.500\n",
             "curtail_run_rounds_total{run=\"small\"} 5\n",
             "curtail_run_tokens_total{run=\"small\"} 112\n",
             "curtail_run_target_tokens{run=\"small\"} 320\n",
             "curtail_run_progress_ratio{run=\"small\"} 0.35\n",
             "curtail_run_tokens_per_second{run=\"small\"} 2.5\n",
             "curtail_run_held_out_loss_nats{run=\"small\"} 4.5\n",
             "curtail_run_held_out_commit{run=\"small\"} 6\n",
             "curtail_run_held_out_models_behind{run=\"small\"} 1\n",
             "curtail_run_held_out_warnings{run=\"small\"} 1\n",
             "curtail_run_training_left_seconds{run=\"small\"} 83.2\n",
             "curtail_site_trainer_state{run=\"small\",site=\"A\",state=\"training\"} 1\n",
             "curtail_site_jobs{run=\"small\",site=\"A\",state=\"queued\"} 1\n",
             "curtail_site_jobs{run=\"small\",site=\"A\",state=\"stopping\"} 1\n",
             "curtail_site_energy_joules_total{run=\"small\",site=\"A\"} 3600000\n",
             "curtail_site_carbon_grams{run=\"small\",site=\"A\"} 72.5\n",
             "curtail_site_intensity_grams_per_kwh{run=\"small\",site=\"A\"} 68.5\n",
         })
        EXPECT_THAT(text, HasSubstr(line));
    EXPECT_THAT(text, HasSubstr("# TYPE curtail_run_commits_total counter\n"
                                "curtail_run_commits_total{run=\"small\"} 8\n"));
    EXPECT_THAT(
        text,
        HasSubstr("curtail_site_window_phase{run=\"small\",site=\"A\",phase=\"closed\"} 0\n"
                  "curtail_site_window_phase{run=\"small\",site=\"A\",phase=\"open\"} 0\n"
                  "curtail_site_window_phase{run=\"small\",site=\"A\",phase=\"closing\"} 1\n"));
}

TEST_F(Prometheus, LeavesOutWhatIsUnknown)
{
    overview_.chain.reset();
    overview_.store_error = Error{ExitCode::unavailable, "store", "not mounted", ""};
    overview_.speed.reset();
    overview_.held_out.reset();
    overview_.energy->sites[0].tally.unknown = {1000};
    overview_.energy->sites[0].sample->intensity.reset();
    auto const text = prometheus_text(overview_);
    EXPECT_THAT(text, HasSubstr("curtail_store_up{run=\"small\"} 0\n"));
    for (auto const* name : {"curtail_run_", "carbon_grams", "site_intensity"})
        EXPECT_THAT(text, Not(HasSubstr(name)));
    overview_.energy.reset();
    overview_.sites.poller_wrote.reset();
    for (auto const* name : {"joules", "site_signal", "poller_state", "site_jobs"})
        EXPECT_THAT(prometheus_text(overview_), Not(HasSubstr(name)));
}

TEST_F(Prometheus, LabelsAreEscaped)
{
    overview_.sites.sites[0].site = {"a\"b\\c\nd"};
    EXPECT_THAT(prometheus_text(overview_), HasSubstr(R"(site="a\"b\\c\nd")"));
}

}  // namespace
}  // namespace curtail::status
