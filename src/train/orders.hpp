// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <variant>
#include <vector>

#include "rounds/messages.hpp"
#include "train/local_work.hpp"

/// What the background thread that speaks the round protocol and the leader's training loop say to
/// each other.
namespace curtail::train {

// ---- to the training loop; the first three are answered

struct LoadWeights {
    rounds::Op op{};
    Values theta;
    std::int64_t round{};  ///< of the model, for metrics
};
struct MakeCut {
    rounds::Op op{};
    Seq seq;
};
struct TakeOver {
    rounds::Op op{};
    Values theta;  ///< null: the trainer's own anchor is the new model
    std::vector<Seq> dropped;
    std::int64_t round{};  ///< of the model, for metrics
};
struct TrainBlocks {
    rounds::Ranges held;
    Tokens before;  ///< progress of schedules behind the last cut
};
struct ForgetWork {};
struct Leave {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;
};
using Order = std::variant<LoadWeights, MakeCut, TakeOver, TrainBlocks, ForgetWork, Leave>;

// ---- from the training loop

/// Answer to MakeCut.
struct CutMade {
    rounds::Op op{};
    Seq seq;
    CutWork work;
    Values anchor;  ///< x at the cut
};
using Report =
    std::variant<rounds::Loaded, rounds::Adopted, rounds::Stepped, CutMade, rounds::StopRequested>;

}  // namespace curtail::train
