// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "run/config/model.hpp"
#include "storage/payload/payload.hpp"

namespace curtail::model {

/// Returns the layout of the payloads of run `run`: the parameters of its model `shape`, in the
/// order of parameter_places().
[[nodiscard]] payload::Layout payload_layout(RunId const& run, config::Model const& shape);

}  // namespace curtail::model
