// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "run/config/run_spec.hpp"
#include "support/eventually.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/data/prepare.hpp"
#include "trainer/engine/training_id.hpp"
#include "trainer/job/alone_training.hpp"
#include "trainer/job/run_training.hpp"
#include "trainer/job/site_training.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/snapshot/reader.hpp"

namespace curtail::trainer::test {

/// A small run with one site, in its own folder, with data for about fifty blocks.
class SmallTraining : public testing::Test {
  protected:
    void SetUp() override
    {
        data::PrepareOptions options;
        options.text = {curtail::test::source_path("tests/golden/corpus")};
        options.out = folder_ / "data";
        options.vocabulary_size = 300;
        options.held_out_share = 0.2;
        auto const prepared = data::prepare(options, {});
        ASSERT_TRUE(prepared) << prepared.error().message();
        ASSERT_TRUE(make_folder(folder_ / "store"));
        ASSERT_TRUE(
            write_file(folder_ / "model.json",
                       R"({"name": "small", "depth": 1, "sequence": 32, "vocabulary": 300})"));
        ASSERT_TRUE(write_file(folder_ / "site.json",
                               R"({"site": "A", "region": "A", "ranks": 1,
            "power": "unknown", "launcher": {"kind": "local", "script": "x.sh", "grace_s": 10}})"));
        configure(1, 0);
    }

    /// Writes the run file. `steps` limits a training without a store. `training` is text that
    /// begins the section `training`, such as `"tokens": 300, `.
    void configure(int seed, int steps, int epochs = 1, std::string const& training = "")
    {
        auto const text =
            R"({"run": "small", "folder": "out", "store": "file:store",
            "model": "model.json", "seed": )" +
            std::to_string(seed) + R"(, "data": {"folder": "data", "epochs": )" +
            std::to_string(epochs) + R"(}, "training": {)" + training +
            R"("batch_tokens": 512, "device_batch_rows": 16, "steps": )" + std::to_string(steps) +
            R"(}, "optimizer": {"schedule_tokens": 1000000, "lr_scale": 0.1},
        "rounds": {"block_tokens": 128, "grant_quantum_blocks": 4, "round_time_s": 0.2,
        "checkpoint_interval_s": 0.2, "poll_run_s": 0.02, "poll_run_lone_s": 0.02,
        "poll_run_starved_s": 0.02, "poll_wait_s": 0.02, "gather_time_s": 0.2, "lease_s": 1,
        "first_base_wait_s": 0.2, "skew_s": 1},
        "sites": ["site.json"]})";
        ASSERT_TRUE(write_file(run_file(), text));
        auto const read = config::read_run(run_file());
        ASSERT_TRUE(read) << read.error().message();
        run_ = *read;
    }

    /// Trains like curtail-train, in one process.
    Result<void> train(bool alone)
    {
        StopSignal const stop;
        log_text_.clear();
        auto const ranks = comm::single_process();
        return train_site({run_file(), {"A"}, "1", alone, 1, {}}, *ranks, stop, log());
    }
    /// Trains in the run and requests a stop once the metrics have `steps` steps.
    Result<void> train_until(std::size_t steps)
    {
        std::jthread const other([this, steps](std::stop_token const& given_up) {
            (void)curtail::test::eventually(
                [&] { return given_up.stop_requested() || metrics().size() >= steps; },
                Seconds{40});
            ::kill(getpid(), SIGUSR1);
        });
        return train(false);
    }

    [[nodiscard]] Log log()
    {
        return Log([this](Level, std::string_view line) { log_text_ += std::string(line) + "\n"; });
    }
    [[nodiscard]] std::filesystem::path run_file() const { return folder_ / "run.json"; }
    [[nodiscard]] data::Loader training_data() const
    {
        auto stream = data::TokenStream::open(run_.data.folder, data::Split::train);
        return data::Loader::create(std::move(*stream), run_.rounds.block_tokens.value,
                                    run_.model.sequence)
            .value();
    }
    [[nodiscard]] std::filesystem::path site_folder() const { return folder_ / "out/sites/A"; }
    /// Returns the newest snapshot, if there is a whole one.
    [[nodiscard]] std::optional<snapshot::Snapshot> newest_snapshot() const
    {
        auto const found = snapshot::find_snapshots(site_folder()).value();
        return found.whole.empty() ? std::nullopt : std::optional(found.whole.front());
    }
    /// Returns the position in the newest snapshot.
    [[nodiscard]] snapshot::Metadata kept() const { return newest_snapshot().value().metadata; }
    /// Returns the file of the newest snapshot, which one rank has saved.
    [[nodiscard]] std::filesystem::path snapshot_file() const
    {
        return site_folder() / snapshot::file_name(newest_snapshot().value().headers.at(0).place);
    }
    [[nodiscard]] std::vector<json::Object> metrics() const
    {
        std::vector<json::Object> rows;
        auto const text = read_file(site_folder() / "metrics.jsonl").value_or("");
        for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1)
            rows.push_back(*json::parse(text.substr(at, end - at), "metrics").value().as_object());
        return rows;
    }

    curtail::test::TemporaryFolder folder_;
    config::Run run_;
    std::string log_text_;
};

}  // namespace curtail::trainer::test
