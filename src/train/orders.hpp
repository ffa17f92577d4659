// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <variant>
#include <vector>

#include "rounds/messages.hpp"
#include "train/local_work.hpp"

/// Messages between the background thread, which runs the round protocol, and the leader's training
/// loop.
namespace curtail::train {

// ---- to the training loop, which answers the first three

struct LoadWeights {
    rounds::Op op{};
    Values theta;
    std::int64_t round{};  ///< of the model, for metrics
};
struct MakeCut {
    rounds::Op op{};
    Seq seq;
};
struct AdoptModel {
    rounds::Op op{};
    Values theta;  ///< null: the trainer's own anchor is the new model
    std::vector<Seq> dropped;
    std::int64_t round{};  ///< of the model, for metrics
};
struct TrainBlocks {
    rounds::Ranges held;
    Tokens before;  ///< progress of the schedules at the last cut
};
struct DiscardWork {};
struct Leave {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;
};
using Order = std::variant<LoadWeights, MakeCut, AdoptModel, TrainBlocks, DiscardWork, Leave>;

// ---- from the training loop

/// The answer to MakeCut.
struct CutMade {
    rounds::Op op{};
    Seq seq;
    CutWork work;
    Values anchor;  ///< x at the cut
};
using LoopEvent =
    std::variant<rounds::Loaded, rounds::Adopted, rounds::Stepped, CutMade, rounds::StopRequested>;

}  // namespace curtail::train
