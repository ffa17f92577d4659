// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "model/parameters.hpp"
#include "optim/optimizer.hpp"
#include "rounds/record.hpp"

namespace curtail::train {

/// Where a site's own training stands. In a run only the optimizer's state and the rate are taken
/// from it: the newest commit decides weights and data. Without a store all of it is.
struct Position {
    Tokens tokens{};       ///< trained since the beginning
    std::int64_t steps{};  ///< optimizer steps since the beginning
    rounds::Rate rate{};   ///< measured, for the next life in a run
};

struct Snapshot {
    std::string owner;  ///< which training it is of (train/snapshot_owner.hpp); empty in one that
                        ///< does not say
    Position position;
    model::Parameters weights;
    optim::OptimizerState optimizer;
};

/// Replaces the snapshot as one act. Format: docs/formats-snapshot.md. Values that are not finite
/// are refused (`data`), and the file of before stays.
[[nodiscard]] Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run,
                                         std::string const& owner, Position const& position,
                                         model::Parameters const& weights,
                                         optim::OptimizerState const& optimizer);
/// Nothing if there is none. `data` if it is damaged, of another run's name or model, or holds
/// values that are not finite; the file is left as it is. Whether its owner is the right one is the
/// caller's to judge.
[[nodiscard]] Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path,
                                                            RunId const& run,
                                                            config::Model const& shape);

}  // namespace curtail::train
