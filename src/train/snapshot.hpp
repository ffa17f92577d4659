// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "model/parameters.hpp"
#include "optim/optimizer.hpp"
#include "rounds/record.hpp"

namespace curtail::train {

/// How far a site's own training is. A member of a run only uses the rate of it: the newest commit
/// determines weights and data.
struct Position {
    Tokens tokens{};       ///< trained in total
    std::int64_t steps{};  ///< optimizer steps in total
    rounds::Rate rate{};   ///< measured speed, for the next process of this site
};

struct Snapshot {
    std::string owner;  ///< see train/snapshot_owner.hpp; empty if the file lacks it
    Position position;
    model::Parameters weights;
    optim::OptimizerState optimizer;
};

/// Replaces the snapshot atomically. Format: docs/formats-snapshot.md. Fails with `data` on
/// non-finite values and then keeps the previous file.
[[nodiscard]] Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run,
                                         std::string const& owner, Position const& position,
                                         model::Parameters const& weights,
                                         optim::OptimizerState const& optimizer);
/// Empty if the file does not exist. Fails with `data` if it is damaged, belongs to another run or
/// model, or has non-finite values; leaves the file in place. The caller must check the owner.
[[nodiscard]] Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path,
                                                            RunId const& run,
                                                            config::Model const& shape);

}  // namespace curtail::train
