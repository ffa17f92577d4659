// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"
#include "store/object_store.hpp"
#include "train/crew.hpp"
#include "train/recorder.hpp"
#include "train/snapshot.hpp"

namespace curtail::train {

/// What a leader needs besides its crew.
struct LeaderContext {
    config::Run const& run;
    config::Site const& site;
    Recorder& recorder;
    Log log;
    std::filesystem::path snapshot;    ///< of this site
    Position start;                    ///< from the snapshot, or zero
    std::optional<std::string> owner;  ///< of the snapshots to come; nothing while that is not
                                       ///< known, as before a run's first commit
};

/// Trains one site as a member of a run until it is told to leave or the run is complete; the
/// leader's whole life. The other ranks are in Crew::follow() meanwhile and are dismissed by the
/// caller. Answers whether the run is complete.
[[nodiscard]] Result<bool> train_in_run(Crew& crew, LeaderContext const& context,
                                        rounds::RunSpec const& spec, store::ObjectStore& store);

/// Trains without a store: from the snapshot's weights and position to `training.steps` or the end
/// of the stream, or until told to stop. The leader's part.
[[nodiscard]] Result<void> train_alone(Crew& crew, LeaderContext const& context,
                                       std::int64_t stream_blocks);

}  // namespace curtail::train
