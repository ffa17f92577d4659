// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "config/run.hpp"
#include "core/digest.hpp"
#include "store/object_store.hpp"

/// The owner of a snapshot: a text that identifies one training. The name of the run is not enough,
/// because its store may have been emptied and the run started again. Without a store, nothing else
/// fixes the configuration.
namespace curtail::train {

/// `run <digest of the run's first commit>`; every instance of a run has another one. Empty if the
/// run has no commit yet. Retries a read that fails, is damaged or finds nothing a few times,
/// because a wrong result would cost the optimizer state.
[[nodiscard]] Result<std::optional<std::string>> owner_in_store(store::ObjectStore& store,
                                                                RunId const& run);

/// `alone <digest>` of everything that determines a training without a store: data, seed, model,
/// optimizer, sizes of blocks and batches.
[[nodiscard]] std::string owner_alone(config::Run const& run, Digest const& manifest);
/// True for an owner made by owner_alone().
[[nodiscard]] bool is_alone(std::string const& owner);

}  // namespace curtail::train
