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

/// Which text a run trains on.
struct Data {
    std::filesystem::path folder;  ///< holds manifest.json, tokenizer and shards, as `curtail-data
                                   ///< prepare` makes them
    std::int64_t epochs{1};
};

/// How one optimizer step is made up. A step consumes whole blocks of the data stream.
struct Training {
    std::int64_t batch_tokens{
        524'288};  ///< per optimizer step, over all ranks of a site; a multiple of block_tokens
    std::int64_t device_batch_rows{8};  ///< rows of T tokens in one forward pass of one rank; the
                                        ///< rest is gradient accumulation
    std::int64_t snapshot_every_steps{0};  ///< local snapshot this often; 0: only when leaving
    std::int64_t steps{0};  ///< without a store: stop after so many; 0: at the end of the stream
};

/// Inner optimizer, docs/model.md. Learning rates are those of the reference times `lr_scale`.
struct Optimizer {
    Tokens schedule{
        12'270'000'000};  ///< tokens over which the schedules run (S steps of the reference)
    std::optional<double> lr_scale;  ///< absent: sqrt(batch_tokens / 2^19)
    double weight_decay{0.2};        ///< Muon, at depth 12; scaled by (12 / depth)^2
    double warmdown{0.4};       ///< last share of the schedule, in which rates fall to `final_lr`
    double final_lr{0};         ///< share of the rate that is left at the end
    bool muon_bfloat16{false};  ///< precision of Muon's products; float32 on CPU
};

/// One training run: which model, text and sites, and the protocol between them. Read from
/// inputs/runs/*.json.
struct Run {
    std::filesystem::path file;  ///< where this was read from, absolute
    RunId run;
    std::filesystem::path folder;  ///< everything the run writes, absolute
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
    /// The folder of what one site writes: snapshot, metrics, events, job logs.
    [[nodiscard]] std::filesystem::path site_folder(SiteId const& site) const
    {
        return folder / "sites" / site.value;
    }
    [[nodiscard]] std::filesystem::path poller_folder() const { return folder / "poller"; }
};

/// Reads a run and the model and site files it names. Relative paths are relative to the file that
/// states them. Unknown or mistyped keys are errors that name the nearest; code `config`, or
/// `no_input` for a missing file.
[[nodiscard]] Result<Run> read_run(std::filesystem::path const& file);

}  // namespace curtail::config
