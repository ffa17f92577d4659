// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "config/run.hpp"
#include "model/parameters.hpp"
#include "rounds/record.hpp"
#include "store/object_store.hpp"

namespace curtail::evaluate {

/// A commit of a run and its model.
struct CommittedModel {
    rounds::Commit commit;
    model::Parameters weights;
    Digest manifest;  ///< identifies the data that the run is trained on
};

/// Reads a run's chain and the weights of commit `wanted`, by default the newest.
///
/// Fails with `no_input` (the run has no such commit), `unavailable` (the store no longer keeps its
/// weights), `protocol` (the chain is broken, or a payload differs from its digest) or `config`
/// (the run's file describes another model than the run in the store).
[[nodiscard]] Result<CommittedModel> load_committed(config::Run const& run,
                                                    store::ObjectStore& store,
                                                    std::optional<CommitNumber> wanted);

/// Fails with `config` unless the run's data folder holds the data that the model is trained on.
/// Other data may have another tokenizer, and may hold out text that this model was trained on.
[[nodiscard]] Result<void> check_data(config::Run const& run, CommittedModel const& model);

}  // namespace curtail::evaluate
