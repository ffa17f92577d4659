// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "config/run.hpp"
#include "core/digest.hpp"
#include "store/object_store.hpp"

/// Which training a snapshot is of, in a word that no other training has. The name of the run is
/// not enough: its store may have been emptied and the run begun anew, and without a store nobody
/// else holds the configuration fast.
namespace curtail::train {

/// `run <digest of the run's first commit>`: made once, at a moment and by a process that never
/// come again. Nothing if the run has not begun. A read that fails, is spoiled or finds nothing is
/// made again a few times: a wrong word would cost the optimizer's state.
[[nodiscard]] Result<std::optional<std::string>> owner_in_store(store::ObjectStore& store,
                                                                RunId const& run);

/// `alone <digest>` of what decides a training without a store: data, seed, model, optimizer, how
/// text is cut into blocks and batches.
[[nodiscard]] std::string owner_alone(config::Run const& run, Digest const& manifest);
[[nodiscard]] bool is_alone(std::string const& owner);

}  // namespace curtail::train
