// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/digest.hpp"
#include "protocol/records/record.hpp"
#include "run/config/run.hpp"

namespace curtail::config {

/// Returns the content of the store's object run.json. All sites of a run must compute the same
/// content. `manifest` is the digest of the data's manifest.json. `parameters` contains the names
/// of the model's parameters, in the order in which payloads store them. The returned content says
/// that each payload of the run has one part, with one tensor per parameter.
[[nodiscard]] protocol::RunSpec make_run_spec(Run const& run, Digest const& manifest,
                                              std::int64_t blocks_per_epoch,
                                              std::vector<std::string> parameters);

/// Returns the number of parameters of a run's model, by its run.json. Returns an empty optional if
/// another version of Curtail described the model.
[[nodiscard]] std::optional<std::int64_t> parameters_of(protocol::RunSpec const& spec);

/// Returns an error with the code `config` if the run's token budget is larger than its data, i.e.
/// than Data::epochs passes over `blocks_per_epoch` blocks.
[[nodiscard]] std::optional<Error> check_budget(Run const& run, std::int64_t blocks_per_epoch);

}  // namespace curtail::config
