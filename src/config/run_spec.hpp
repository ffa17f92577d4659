// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/run.hpp"
#include "core/digest.hpp"
#include "rounds/record.hpp"

namespace curtail::config {

/// run.json of a configured run: what all its sites must agree on. `manifest` is the digest of the
/// data's manifest.json, `parameters` the model's parameter names in order (one part).
[[nodiscard]] rounds::RunSpec make_run_spec(Run const& run, Digest const& manifest,
                                            std::int64_t blocks_per_epoch,
                                            std::vector<std::string> parameters);

}  // namespace curtail::config
