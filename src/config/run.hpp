// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/model.hpp"
#include "config/site.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "rounds/params.hpp"

namespace curtail::config {

/// The text that a run trains on.
struct Data {
    std::filesystem::path folder;  ///< written by `curtail-data prepare`
    std::int64_t epochs{1};
};

/// The parts of an optimizer step, which consumes whole blocks of the data stream.
struct Training {
    /// Tokens of an optimizer step, over all ranks of a site. A multiple of block_tokens.
    std::int64_t batch_tokens{524'288};
    /// Rows of T tokens in a forward pass of a rank. Gradient accumulation covers the rest.
    std::int64_t device_batch_rows{8};
    std::int64_t snapshot_every_steps{0};  ///< 0: write a snapshot only when leaving
    std::int64_t steps{0};  ///< without a store: stop after this many; 0: at the end of the stream
};

/// Inner optimizer (docs/model.md). Learning rates are the reference's times `lr_scale`.
struct Optimizer {
    Tokens schedule{12'270'000'000};  ///< length of the schedules (S steps of the reference)
    std::optional<double> lr_scale;   ///< absent: sqrt(batch_tokens / 2^19)
    double weight_decay{0.2};         ///< of Muon at depth 12; scaled by (12 / depth)^2
    double warmdown{0.4};       ///< last share of the schedule, in which rates decay to `final_lr`
    double final_lr{0};         ///< share of the rate that remains at the end
    bool muon_bfloat16{false};  ///< precision of Muon's matrix products; false: float32
};

/// One training run: model, text, sites, and the protocol between them. Read from a run file, such
/// as inputs/runs/demo.json.
struct Run {
    std::filesystem::path file;  ///< the run file, absolute
    RunId run;
    std::filesystem::path folder;  ///< for everything that the run writes, absolute
    std::string store;             ///< `file:///absolute/folder`
    std::int64_t seed{1};
    Model model;
    Data data;
    Training training;
    Optimizer optimizer;
    rounds::Outer outer;
    rounds::Params rounds;
    std::vector<Site> sites;

    [[nodiscard]] Site const* find_site(SiteId const& site) const;
    /// Where a site writes its snapshot, metrics, events and job logs.
    [[nodiscard]] std::filesystem::path site_folder(SiteId const& site) const
    {
        return folder / "sites" / site.value;
    }
    [[nodiscard]] std::filesystem::path poller_folder() const { return folder / "poller"; }
};

/// Reads a run file and the model and site files that it names. Relative paths are relative to the
/// file that contains them. Unknown keys are errors that name the nearest key. Code `config`, or
/// `no_input` for a missing file.
[[nodiscard]] Result<Run> read_run(std::filesystem::path const& file);

}  // namespace curtail::config
