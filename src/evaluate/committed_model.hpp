// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "config/run.hpp"
#include "model/parameters.hpp"
#include "rounds/record.hpp"
#include "store/object_store.hpp"

namespace curtail::evaluate {

/// A commit of a run and the model that it names.
struct CommittedModel {
    rounds::Commit commit;
    model::Parameters weights;
    Digest manifest;  ///< of the data that the run is trained on
};

/// Reads the chain of a run's store and the weights of commit `wanted`, or of the newest. Failures:
/// `no_input` (no such commit, or no commit yet), `unavailable` (its weights are no longer kept),
/// `protocol` (broken chain, or a payload that differs from its digest), `config` (the run's file
/// says another model than the run in the store).
[[nodiscard]] Result<CommittedModel> load_committed(config::Run const& run,
                                                    store::ObjectStore& objects,
                                                    std::optional<CommitNumber> wanted);

/// `config` unless the data in the run's data folder is what the model is trained on: with another
/// tokenizer, tokens mean something else, and text that is held out of one set of data may be
/// trained on in another.
[[nodiscard]] Result<void> check_data(config::Run const& run, CommittedModel const& model);

}  // namespace curtail::evaluate
