// SPDX-License-Identifier: Apache-2.0
#pragma once

// The id of a training is a string. Each snapshot stores the id of the training to which it
// belongs. The name of the run would not suffice: somebody may empty the store and start the run
// again. A training with a store is identified by its first commit. A training without a store
// has no commits, so its id is computed from its configuration.

#include <optional>
#include <string>

#include "base/core/digest.hpp"
#include "protocol/records/record.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::trainer {

/// Returns `run <digest of the run's first commit>`. A run that is started again from the beginning
/// has another digest. Returns an empty optional if the run has no commit yet. Fails with
/// `protocol` if the first commit is damaged. Reads several times before it fails or returns an
/// empty optional. The reason: without the id, a site ignores its snapshot and loses the
/// optimizer's state. Ends early if `call` is over.
[[nodiscard]] Result<std::optional<std::string>> training_id_in_store(store::ObjectStore& store,
                                                                      RunId const& run,
                                                                      CallLimits const& call = {});

/// Returns `alone <digest>` for a training without a store. `<digest>` is the digest of everything
/// that determines the weights: data, seed, model, optimizer, and the sizes of blocks and batches.
[[nodiscard]] std::string training_id_alone(protocol::RunSpec const& spec);
/// Returns true if training_id_alone() made `training_id`.
[[nodiscard]] bool is_alone(std::string const& training_id);

}  // namespace curtail::trainer
