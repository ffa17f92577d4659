// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "protocol/records/record.hpp"
#include "run/config/model.hpp"
#include "run/config/site.hpp"

namespace curtail::config {

/// The data that a run trains on.
struct Data {
    std::filesystem::path folder;  ///< written by `curtail-data prepare`
    /// Passes over the training split of the data; with a token budget, the greatest number.
    std::int64_t epochs{1};
};

/// The type in which a model computes. Master weights and the optimizer's state are float32 in
/// either case.
enum class Precision { fp32, bf16 };

/// The size of an optimizer step, and when the trainer saves snapshots and stops. A step consumes
/// whole blocks.
struct TrainingSettings {
    /// Tokens per optimizer step, over all ranks of a site. A multiple of rounds.block_tokens.
    Tokens batch_tokens{524'288};
    /// The greatest number of rows per forward pass of a rank; a row has `model.sequence` tokens.
    /// If a rank's share of the batch has more rows, the rank makes several passes and adds up
    /// their gradients.
    std::int64_t device_batch_rows{8};
    /// Empty: fp32 on a CPU, bf16 on a GPU.
    std::optional<Precision> precision{};
    /// Whether the backward pass computes each layer's activations again instead of keeping them.
    /// Saves memory and costs time; the gradients are the same.
    bool checkpoint_activations{false};
    /// Steps between two additional snapshots; 0: none. A member of a run writes a snapshot with
    /// every cut. Every trainer writes one when it exits.
    std::int64_t snapshot_every_steps{0};
    /// A shorter step is followed by a pause, so that the next one begins this long after it. The
    /// pause counts as a part of the step. 0: no pause.
    FractionalSeconds step_at_least{0};
    /// How long a rank waits for another one before it ends the job; see comm::Patience.
    Millis rank_timeout{120'000};
    /// Steps after which `curtail-train --alone`, which uses no store, stops; 0: no limit. Steps of
    /// earlier executions count too. At the end of the stream, the trainer stops in any case.
    std::int64_t steps_without_store{0};
    /// Tokens after which the run is complete, rounded up to whole blocks; from `tokens` or
    /// `tokens_per_parameter`. Empty: the run is complete after Data::epochs.
    std::optional<Tokens> budget{};
    /// Tokens per parameter of the model, if the file states the budget in this form. Counts all
    /// parameters (Model::parameters()).
    std::optional<double> tokens_per_parameter{};
};

/// Settings of the inner optimizer. The learning rates are those of docs/model.md times `lr_scale`.
struct OptimizerSettings {
    /// Length of the schedules of learning rate and weight decay. Empty: they end with the run
    /// (protocol::RunSpec::schedule()).
    std::optional<Tokens> schedule{};
    std::optional<double> lr_scale;  ///< empty: sqrt(batch_tokens / 2^19)
    /// Initial weight decay of Muon for a model of 12 layers. For other models, the optimizer
    /// multiplies it by (12 / layers)^2.
    double weight_decay{0.2};
    /// Fraction of the schedule, at its end, in which the learning rates fall. In the rest, they
    /// are constant.
    double warmdown{0.4};
    double final_lr{0};  ///< fraction of each learning rate that remains after the schedule
    /// Whether Muon computes its matrix products in bfloat16. Otherwise, Muon uses float32.
    bool muon_bfloat16{false};
};

/// When status and report warn about the held-out losses in the sites' journals.
struct HeldOutBounds {
    /// The loss of the newest evaluated model is further than this above the lowest earlier one, in
    /// nats per token.
    double rise_nats{0.1};
    std::int64_t behind_models{3};  ///< more models than these are newer than the evaluated one
};

/// A training run: the settings in a run file (such as inputs/runs/demo.json), and in the model and
/// site files that the run file names.
struct Run {
    std::filesystem::path file;  ///< absolute path of the run file
    /// The run file, the model file and the site files, in this order.
    std::vector<SettingsFile> files;
    /// Returns the files that concern the site with this index: run file, model file, site file.
    [[nodiscard]] std::array<SettingsFile const*, 3> files_of(std::size_t site) const
    {
        return {&files.at(0), &files.at(1), &files.at(site + 2)};
    }
    RunId run;
    /// Absolute path of the run's folder, where the sites and the poller write.
    std::filesystem::path folder;
    store::Address store;
    /// The group whose members run this run together: they may read and write what it writes.
    /// Empty: only the user may.
    std::optional<gid_t> shared_group;
    /// Folders with holds of the centre's operators, besides permission::operators_folder.
    std::vector<std::filesystem::path> hold_folders;
    /// Seed of the initial weights. `curtail-data prepare --run` uses this seed too, if `--seed` is
    /// absent.
    std::int64_t seed{1};
    Model model;
    Data data;
    TrainingSettings training;
    OptimizerSettings optimizer;
    protocol::Outer outer;
    protocol::Params rounds;
    bool states_drop_after{};  ///< otherwise `rounds` has protocol::default_drop_after()
    HeldOutBounds held_out;
    std::vector<Site> sites;
    /// The site whose power and speed count for always-on training in a region without a site.
    /// Empty: the first of `sites`.
    SiteId reference_site;

    /// Returns a null pointer if the run has no such site.
    [[nodiscard]] Site const* find_site(SiteId const& site) const;
    /// Returns the names of all sites, in order.
    [[nodiscard]] std::vector<std::string> site_names() const;
    /// Returns the site that `reference_site` names. The run must have this site.
    [[nodiscard]] Site const& reference() const;
    /// Returns how `site` reaches the store.
    [[nodiscard]] store::Address store_for(Site const& site) const { return store.with(site.s3); }
    /// Returns the folder where a site writes its snapshot, metrics and events.
    [[nodiscard]] std::filesystem::path site_folder(SiteId const& site) const
    {
        return folder / "sites" / site.value;
    }
    /// Returns the folder for the output of a site's jobs. Its mode is 0700. Slurm follows links in
    /// its path. Members of a shared run can put some into the run's folder, so there each user has
    /// an own one, in state_folder().
    [[nodiscard]] std::filesystem::path job_logs(SiteId const& site) const;
    [[nodiscard]] std::filesystem::path poller_folder() const { return folder / "poller"; }
    /// Returns the folder where the poller writes what it logs about a site.
    [[nodiscard]] std::filesystem::path poller_folder(SiteId const& site) const
    {
        return poller_folder() / "sites" / site.value;
    }
};

/// Reads a run file, and the model and site files that the run file names. A relative path in one
/// of these files is relative to the folder of that file. Fails with `config` if a file is invalid;
/// for an unknown key, the message suggests the nearest known key. Fails with `no_input` if a file
/// is missing.
[[nodiscard]] Result<Run> read_run(std::filesystem::path const& file);

/// Returns a warning if the last part of a run would change nothing, because the learning rates are
/// 0 there: the schedule is shorter than the run, which is complete after `end` tokens. Empty: it
/// is not, or `end` is not known.
[[nodiscard]] std::optional<std::string> zero_rate_warning(Run const& run,
                                                           std::optional<Tokens> end);

}  // namespace curtail::config
