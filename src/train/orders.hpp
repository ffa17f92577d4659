// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages between the leader's background thread and the leader's training loop. The background
// thread runs the round protocol. The fields `theta` contain committed models. An order that needs
// an answer carries the number `op` of the protocol's question (rounds/messages.hpp), and so does
// the answer.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rounds/messages.hpp"
#include "train/block_ledger.hpp"
#include "train/rank_work.hpp"

namespace curtail::train {

// ---- orders to the training loop. The loop answers LoadWeights, MakeCut and AdoptModel.

/// Replaces the weights and the anchor by theta. The answer is rounds::Loaded.
struct LoadWeights {
    rounds::Op op{};
    Values theta;
    std::int64_t round{};  ///< round of the model theta, for the metrics
};
/// Makes a cut between two steps and pauses until the next TrainBlocks. The answer is CutMade.
struct MakeCut {
    rounds::Op op{};
    Seq seq;
    bool with_model{};  ///< the answer also has the weights
};
/// Adopts the model of a new commit and keeps the work that no commit has included or refused. The
/// answer is rounds::Adopted.
struct AdoptModel {
    rounds::Op op{};
    Values theta;              ///< null if the trainer's own anchor is the new model
    std::vector<Seq> dropped;  ///< cuts whose deltas commits have included or refused
    std::int64_t round{};      ///< round of the new model, for the metrics
};
/// Continues training on the blocks that the site holds.
struct TrainBlocks {
    rounds::Ranges held;
    /// Number of tokens on which the committed model and the undecided deltas were trained.
    /// Together with the tokens trained since the last cut, this number determines the scheduled
    /// rates (optim/schedule.hpp).
    Tokens tokens_before;
};
/// Pauses training because the member was removed. Forgets all work that is not in the committed
/// model.
struct DiscardWork {};
/// Tells the loop the id of this training (train/training_id.hpp), which its snapshots need. Sent
/// once, unless the loop has begun with the id.
struct IdentifyTraining {
    std::string id;
};
/// Ends the training loop with this exit code and, after a failure, this error.
struct Leave {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;
};
using Order = std::variant<LoadWeights, MakeCut, AdoptModel, TrainBlocks, DiscardWork,
                           IdentifyTraining, Leave>;

// ---- events from the training loop

/// The answer to MakeCut.
struct CutMade {
    rounds::Op op{};
    Seq seq;
    BlockLedger::Cut blocks;
    CutValues values;
};
using LoopEvent = std::variant<rounds::Loaded, rounds::Adopted, rounds::Stepped, rounds::Skipped,
                               CutMade, rounds::StopRequested>;

}  // namespace curtail::train
