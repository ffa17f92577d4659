// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "model/parameters.hpp"
#include "optim/optimizer.hpp"
#include "rounds/record.hpp"

namespace curtail::train {

/// How far a site's own training has come. In a run, `tokens` and `steps` are only counts that each
/// instance continues: the newest commit determines the site's weights and blocks.
struct Position {
    Tokens tokens{};       ///< number of tokens trained, over all instances of the trainer
    std::int64_t steps{};  ///< number of optimizer steps, over all instances of the trainer
    rounds::Rate rate{};   ///< measured speed, for the next instance
};

/// A site's own copy of weights and optimizer state, which it keeps between jobs.
struct Snapshot {
    std::string training_id;  ///< see train/training_id.hpp; an empty string if the file has none
    Position position;
    model::Parameters weights;
    optim::OptimizerState optimizer;
};

/// Replaces the snapshot file `path` atomically (docs/formats-snapshot.md). Fails with `data`, and
/// keeps the previous file, if a value is not finite.
[[nodiscard]] Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run,
                                         std::string const& training_id, Position const& position,
                                         model::Parameters const& weights,
                                         optim::OptimizerState const& optimizer);
/// Reads a snapshot of run `run` and model `shape`. Returns an empty optional if the file does not
/// exist. Fails with `data` if the file is damaged, belongs to another run or model, or has
/// non-finite values. Never deletes the file. The caller must compare the snapshot's training id
/// with the id of its own training.
[[nodiscard]] Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path,
                                                            RunId const& run,
                                                            config::Model const& shape);

}  // namespace curtail::train
