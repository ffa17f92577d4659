#pragma once
#include <filesystem>
#include <optional>

#include "model/parameters.hpp"
#include "optim/optimizer.hpp"
#include "rounds/record.hpp"

namespace curtail::train {

/// Where a site's own training stands. In a run only the optimizer's state and the rate are taken from it: the newest commit
/// decides weights and data. Without a store all of it is.
struct Position {
    Tokens tokens{};       ///< trained since the beginning
    std::int64_t steps{};  ///< optimizer steps since the beginning
    rounds::Rate rate{};   ///< measured, for the next life in a run
};

struct Snapshot {
    Position position;
    model::Parameters weights;
    optim::OptimizerState optimizer;
};

/// Replaces the snapshot as one act. Format: docs/formats-snapshot.md.
[[nodiscard]] Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run, Position const& position,
                                         model::Parameters const& weights, optim::OptimizerState const& optimizer);
/// Nothing if there is none. `data` if it is damaged or of another run or model; the file is left as it is.
[[nodiscard]] Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path, RunId const& run,
                                                            config::Model const& shape);

}  // namespace curtail::train
