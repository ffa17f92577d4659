// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages between the leader's background thread and the leader's training loop. The background
// thread runs the round protocol. Orders and events are the protocol's own messages
// (protocol/site/messages.hpp). Some also have the values that the protocol only names.

#include <string>
#include <variant>

#include "protocol/site/messages.hpp"
#include "trainer/engine/rank_work.hpp"

namespace curtail::trainer {

/// protocol::LoadModel or protocol::Adopt with the values of its `model`.
template <class Question>
struct WithModel : Question {
    Values theta;  ///< null if Adopt::keeps_weights is set
};
/// Tells the loop the id of this training (trainer/engine/training_id.hpp), which its snapshots
/// need. Sent once, unless the loop has begun with the id.
struct IdentifyTraining {
    std::string id;
};
/// An order to the training loop.
using Order =
    std::variant<WithModel<protocol::LoadModel>, protocol::Cut, WithModel<protocol::Adopt>,
                 protocol::Train, protocol::Discard, IdentifyTraining, protocol::Exit>;

/// protocol::CutReady with the values of the cut.
struct CutResult {
    protocol::Op op{};
    Seq seq;
    CutValues values;
};
/// An event from the training loop.
using LoopEvent = std::variant<protocol::Loaded, protocol::Adopted, protocol::Stepped,
                               protocol::Skipped, CutResult, protocol::StopRequested>;

}  // namespace curtail::trainer
